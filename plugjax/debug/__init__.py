"""Print, call and stop in running programs, in compiled and transformed code too."""

from typing import TYPE_CHECKING

from plugjax.extend.transforms import late

# Loaded on first use: the package's plugin is loaded with the framework.
_LATE = {
    "DebugEffect": "plugjax.lax.effects",
    "OrderedDebugEffect": "plugjax.lax.effects",
    "breakpoint": "plugjax.debug.breakpoints",
    "callback": "plugjax.debug.calling",
    "inspect_array_sharding": "plugjax.debug.shardings",
    "log": "plugjax.debug.printing",
    "print": "plugjax.debug.printing",
    "visualize_array_sharding": "plugjax.debug.shardings",
    "visualize_sharding": "plugjax.debug.shardings",
}
if TYPE_CHECKING:
    from plugjax.debug.breakpoints import breakpoint
    from plugjax.debug.calling import callback
    from plugjax.debug.printing import log, print
    from plugjax.debug.shardings import (
        inspect_array_sharding,
        visualize_array_sharding,
        visualize_sharding,
    )
    from plugjax.lax.effects import DebugEffect, OrderedDebugEffect


if not TYPE_CHECKING:
    # Type checkers report names that do not exist.
    __getattr__ = late(globals(), _LATE)


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATE})


__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]
