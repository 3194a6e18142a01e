"""Print, call and stop in running programs, in compiled and transformed code too."""

from plugjax.debug.breakpoints import breakpoint
from plugjax.debug.calling import callback
from plugjax.debug.printing import log, print
from plugjax.lax.effects import DebugEffect, OrderedDebugEffect

__all__ = ["DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "log", "print"]
