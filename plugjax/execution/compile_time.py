"""Operations that are computed while a program is traced, instead of being written into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from plugjax.core.primitive import Primitive, Trace, Tracer, state
from plugjax.execution.eval import evaluator


class CompileTimeTrace(Trace):
    """Evaluates what involves no tracer, and hands the rest to the trace around it."""

    __slots__ = ("parent",)

    def __init__(self, parent: Trace) -> None:
        super().__init__("ensure_compile_time_eval")
        self.parent = parent

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Evaluate the primitive if its operands are known."""
        known = not any(isinstance(x, Tracer) for x in args)
        state.trace = evaluator() if known else self.parent
        try:
            return state.trace.process(primitive, args, params)
        finally:
            state.trace = self


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Within the block, operations on values that are known are computed at once, under ``jit`` too.

    Operations on tracers are traced as outside of the block.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> @plugjax.jit
        ... def f(x):
        ...     with plugjax.ensure_compile_time_eval():
        ...         positive = jnp.sin(3.0) > 0
        ...     return x if positive else -x
        >>> f(1.0)
        Array(1., dtype=float32, weak_type=True)
    """
    outer = state.trace
    state.trace = CompileTimeTrace(outer)
    try:
        yield
    finally:
        state.trace = outer
