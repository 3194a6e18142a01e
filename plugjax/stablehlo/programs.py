"""Programs that stand for a primitive: staged once per operand types, and written once per module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.core import caches
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.core.transforms.staging import stage

_programs = caches.new_cache()


def staged(program: Callable[..., Any], avals: tuple[ShapedArray, ...], name: str) -> ClosedJaxpr:
    """``program``, which gives one array, as a program of primitives.

    Args:
        program: a function of arrays that works under staging.
        avals: what it takes.
        name: of the program.
    """
    key = (config.fingerprint, program, avals)
    found: ClosedJaxpr | None = _programs.get(key)
    if found is None:
        found = _programs[key] = stage(lambda *xs: [program(*xs)], avals, name)
    return found
