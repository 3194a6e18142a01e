"""Watching programs while they run: ``print``, ``log``, ``callback`` and ``breakpoint`` for compiled and transformed code."""

from plugjax.debug.breakpoints import breakpoint
from plugjax.debug.calling import callback
from plugjax.debug.printing import log, print
from plugjax.lax.effects import DebugEffect, OrderedDebugEffect

__all__ = ["DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "log", "print"]
