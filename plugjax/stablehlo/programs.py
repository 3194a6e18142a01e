"""Programs in place of a lowering: staged once per operand types, and written once per module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend.core import ClosedJaxpr, ShapedArray, config, new_cache
from plugjax.extend.transforms import stage

_programs = new_cache()


def staged(program: Callable[..., Any], avals: tuple[ShapedArray, ...], name: str) -> ClosedJaxpr:
    """Stage ``program``, which returns one array.

    Args:
        program: a function of arrays that works under staging.
        avals: avals of the operands.
        name: name of the program.
    """
    key = (config.fingerprint, program, avals)
    found: ClosedJaxpr | None = _programs.get(key)
    if found is None:
        found = _programs[key] = stage(lambda *xs: [program(*xs)], avals, name)
    return found
