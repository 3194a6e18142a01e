"""Print, call and stop in running programs, in compiled and transformed code too."""

import importlib
from typing import TYPE_CHECKING, Any

from plugjax.extend.transforms import public

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

    def __getattr__(name: str) -> Any:
        if name not in _LATE:
            raise AttributeError(f"module 'plugjax.debug' has no attribute {name!r}")
        found = getattr(importlib.import_module(_LATE[name]), name)
        globals()[name] = found = public(found, __name__, name)
        return found


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
