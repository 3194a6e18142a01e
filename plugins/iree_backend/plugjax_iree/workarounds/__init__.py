"""Workarounds for defects of IREE's compiler: one file per defect, one table of all (`table.py`), a switch for each.

Import this package for the table and the switches; the files of the workarounds are loaded when they run. The process that compiles
imports it too, so it needs neither NumPy nor the framework.
"""

from plugjax_iree.workarounds.row import Effect, Stage, Workaround
from plugjax_iree.workarounds.switch import (
    VARIABLE,
    active,
    checked,
    from_environment,
    is_on,
    switched_off,
    without,
)
from plugjax_iree.workarounds.table import WORKAROUNDS

__all__ = [
    "VARIABLE",
    "WORKAROUNDS",
    "Effect",
    "Stage",
    "Workaround",
    "active",
    "checked",
    "from_environment",
    "is_on",
    "switched_off",
    "without",
]
