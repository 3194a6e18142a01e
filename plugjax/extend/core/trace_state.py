"""The current trace of this thread, by JAX's names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from plugjax.core.primitive import Trace, state
from plugjax.execution.eval import EvalTrace
from plugjax.transforms.batching import BatchTrace
from plugjax.transforms.staging import StagingTrace


class OpaqueTraceState:
    """Stands for the trace that was current; two are equal if it is the same trace.

    The evaluator is one trace, although each configuration has its own: a mesh in force or an option is no transformation.
    """

    __slots__ = ("_trace",)

    def __init__(self, trace: Trace) -> None:
        self._trace: Any = EvalTrace if isinstance(trace, EvalTrace) else trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace is other._trace

    def __hash__(self) -> int:
        return id(self._trace)


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """The trace that is current, to compare with a later one; it lives as long as the answer."""
    return OpaqueTraceState(state.trace)


def find_top_trace(_: Any = None) -> Trace:
    """The current trace."""
    return state.trace


@contextmanager
def set_current_trace(trace: Trace) -> Iterator[None]:
    """Within the block, ``trace`` interprets primitives."""
    previous = state.trace
    state.trace = trace
    try:
        yield
    finally:
        state.trace = previous


@contextmanager
def take_current_trace() -> Iterator[Trace]:
    """Within the block, which gets the current trace, arrays are evaluated at once.

    Operations on tracers of the trace need it to be set again: see :func:`set_current_trace`.
    """
    taken = state.trace
    with set_current_trace(type(state).base()):
        yield taken


def _enclosing() -> Iterator[Trace]:
    trace: Trace | None = state.trace
    while trace is not None:
        yield trace
        trace = getattr(trace, "parent", None)


def unsafe_am_i_under_a_jit() -> bool:
    """Whether operations are staged now."""
    return any(isinstance(trace, StagingTrace) for trace in _enclosing())


def unsafe_am_i_under_a_vmap() -> bool:
    """Whether a ``vmap`` is open in this trace."""
    return any(isinstance(trace, BatchTrace) for trace in _enclosing())


def unsafe_get_axis_names() -> list[Any]:
    """Names of the axes that are bound here."""
    return [axis.name for axis in state.axes]


def nonempty_axis_env() -> bool:
    """Whether a named axis is bound here."""
    return bool(state.axes)


class TraceTag:
    """Tells traces of one transformation apart in JAX. Traces here know each other, so all tags are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TraceTag)

    def __hash__(self) -> int:
        return hash(TraceTag)


@contextmanager
def eval_context() -> Iterator[None]:
    """Within the block, operations on arrays are evaluated at once, also while a program is traced.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.core import eval_context
        >>> def f(x):
        ...     with eval_context():
        ...         print(float(jnp.sin(0.0)))
        ...     return x
        >>> _ = plugjax.jit(f)(1.0)
        0.0
    """
    with set_current_trace(type(state).base()):
        yield
