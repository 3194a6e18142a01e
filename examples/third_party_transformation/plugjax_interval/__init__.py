"""Interval arithmetic as a plugjax transformation."""

from plugjax_interval.enclosure import Interval, enclose_jaxpr, interval, interval_rule
from plugjax_interval.families import Domain, decreasing, exact, increasing
from plugjax_interval.rounding import outward

__all__ = [
    "Domain",
    "Interval",
    "decreasing",
    "enclose_jaxpr",
    "exact",
    "increasing",
    "interval",
    "interval_rule",
    "outward",
]
