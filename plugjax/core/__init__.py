"""The core: values, primitives, rules, programs and devices. It knows no transformation and no backend.

Authors of plugins import from ``plugjax.extend``; :mod:`plugjax.core.hookspecs` is the map of extension points.
"""

import sys
from typing import Any

from plugjax.core import above, registry
from plugjax.core.aval import AbstractValue as AbstractValue, ShapedArray as ShapedArray
from plugjax.core.operators import methods


def __getattr__(name: str) -> Any:
    return above.find(sys.modules[__name__], name)


def _array_methods() -> dict[str, object]:
    found: dict[str, object] = {}
    for provided in reversed(registry.active().hook.plugjax_array_methods()):
        found.update(provided)
    return found


methods.refill(_array_methods)  # type: ignore[arg-type]  # functions, as plugins give them
