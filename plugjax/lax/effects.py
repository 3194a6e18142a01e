"""The effects of callbacks: what an equation that calls Python does besides computing its results.

A debugging effect shows values and may be repeated or dropped as transformations see fit; an IO effect is part of what the
program does, so transformations that would repeat it refuse. Equations with *ordered* effects run in program order.
"""

from __future__ import annotations

from collections.abc import Iterable

from plugjax.core.effects import Effect
from plugjax.core.jaxpr import ClosedJaxpr


class IOEffect(Effect):
    """The effect of ``io_callback``."""

    def __repr__(self) -> str:
        return "IO"


class OrderedIOEffect(Effect):
    """The effect of ``io_callback(ordered=True)``."""

    ordered = True

    def __repr__(self) -> str:
        return "OrderedIO"


class DebugEffect(Effect):
    """The effect of ``debug.print`` and ``debug.callback``."""

    def __repr__(self) -> str:
        return "Debug"


class OrderedDebugEffect(Effect):
    """The effect of ``debug.print(ordered=True)`` and ``debug.callback(ordered=True)``."""

    ordered = True

    def __repr__(self) -> str:
        return "OrderedDebug"


io_effect = IOEffect()
ordered_io_effect = OrderedIOEffect()
debug_effect = DebugEffect()
ordered_debug_effect = OrderedDebugEffect()


def any_has(programs: Iterable[ClosedJaxpr], *effects: Effect) -> bool:
    """Whether one of the programs has one of the effects."""
    return any(effect in program.effects for program in programs for effect in effects)


def effects_barrier() -> None:
    """Wait until the effects of all calls made so far have happened.

    A call that has effects returns when they have happened, on every backend, so there is never anything left to wait for;
    programs written for JAX may rely on it all the same.

    Differs from JAX:
        In JAX a compiled call may return before its effects have happened.

    Example:
        >>> import plugjax
        >>> plugjax.jit(lambda x: plugjax.debug.print("x = {}", x))(1.5)
        x = 1.5
        >>> plugjax.effects_barrier()
    """
