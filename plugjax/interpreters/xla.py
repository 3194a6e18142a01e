"""Eager evaluation of primitives that a program defines."""

from plugjax.extend.backend import Backend
from plugjax.extend.calls import apply_primitive

__all__ = ["Backend", "apply_primitive"]
