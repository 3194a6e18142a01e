"""The effects of callbacks.

A debugging effect shows values; transformations may repeat or drop it. An IO effect is part of the program's meaning,
so transformations that would repeat it refuse. Equations with *ordered* effects run in program order.
"""

from __future__ import annotations

from collections.abc import Iterable

from plugjax.extend.core import ClosedJaxpr, Effect


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
    """Wait for the effects of all calls made so far.

    On every backend a call with effects returns when they have happened, so there is nothing to wait for. The function
    exists for programs written for JAX.

    Differs from JAX:
        In JAX a compiled call may return before its effects have happened.

    Example:
        >>> import plugjax
        >>> plugjax.jit(lambda x: plugjax.debug.print("x = {}", x))(1.5)
        x = 1.5
        >>> plugjax.effects_barrier()
    """
