"""Recurrences over the leading axis of arrays, as a plugjax primitive."""

from plugjax_recurrence.recurrence import recurrence, recurrence_p

__all__ = ["recurrence", "recurrence_p"]
