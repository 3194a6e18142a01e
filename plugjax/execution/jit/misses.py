"""What ``jit`` says of a signature that it does not know: see the hook ``plugjax_cache_miss``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from plugjax.core import registry
from plugjax.core.aval import ShapedArray
from plugjax.core.config import Fingerprint, config
from plugjax.core.device import Placement

# Fingerprint of the configuration, structure of the arguments, static arguments, avals, named axes.
TraceKey = tuple[Fingerprint, Any, Any, tuple[ShapedArray, ...], Any]


@dataclass(frozen=True)
class CacheMiss:
    """A signature that a jitted function is traced for, or a placement that it is compiled for.

    Attributes:
        fun: the user's function.
        name: its name.
        key: the signature.
        known: signatures that the function was traced for before.
        placement: what a program that has been traced is compiled for; ``None`` if the function is traced.
        placements: what it was compiled for before.
    """

    fun: Callable[..., Any]
    name: str
    key: TraceKey
    known: Sequence[TraceKey] = ()
    placement: Placement | None = None
    placements: Sequence[Placement] = ()


def report(miss: Callable[[], CacheMiss]) -> None:
    """Show a miss to plugins, if one of them asks for it."""
    if config.observes("cache misses"):
        registry.active().hook.plugjax_cache_miss(miss=miss())
