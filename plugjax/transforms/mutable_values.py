"""Mutable values of types that a program defines: what they hold is known by type at each point of a program, and may change.

Nothing of them is left in programs. While a function is staged, an object of the user's class that holds tracers stands in for such a
value, and an operation on it runs at once, on that object. What the value holds comes in as inputs of the staged program and goes out
as further results, which the caller writes back. A function does not say what it closes over: one that meets a mutable value from
outside is stopped (:class:`MutableValueError`), and staged again with that value opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from plugjax.core.array import Array, aval_of, value_types
from plugjax.core.primitive import Tracer, state
from plugjax.transforms.high_values import HighType
from plugjax.transforms.staging import StagingTrace

_T = TypeVar("_T")


class MutableType(HighType):
    """The type of a mutable value. Its state says what it holds at a point of the program; states are compared."""

    def lower_val(self, hi_val: Any) -> list[Any]:
        """A program has no inputs and results of this type.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            f"a mutable value of type {self} cannot be returned, carried or sliced. Return what it holds."
        )

    def lo_ty(self) -> list[Any]:
        """Likewise.

        Raises:
            TypeError: always.
        """
        return self.lower_val(None)

    def made(self, state: Any, held: Sequence[Any]) -> Any:
        """A new value in that state."""
        raise NotImplementedError(f"{type(self).__name__} must implement `made`")

    def read(self, state: Any, value: Any) -> list[Any]:
        """What a value in that state holds."""
        raise NotImplementedError(f"{type(self).__name__} must implement `read`")

    def write(self, state: Any, value: Any, held: Sequence[Any]) -> None:
        """Put a value in that state."""
        raise NotImplementedError(f"{type(self).__name__} must implement `write`")


class MutableValueError(NotImplementedError):
    """A function that is being staged met a mutable value from outside.

    Attributes:
        value: the mutable value.
    """

    def __init__(self, value: Any, origin: str) -> None:
        self.value = value
        super().__init__(
            f"{origin} met a mutable value of type {aval_of(value)} from outside and cannot take it along; jit, scan, while_loop, "
            "cond and switch can. Elsewhere, hand over what it holds, and set it afterwards."
        )


def is_mutable(x: Any) -> bool:
    """Whether a value is mutable, or a tracer of such a value."""
    kind = type(x)
    if kind is Array or not (kind in value_types or isinstance(x, Tracer)):
        return False
    return isinstance(aval_of(x), MutableType)


def current(x: Any) -> Any:
    """What stands for a mutable value under the current trace.

    Raises:
        MutableValueError: a function is being staged that nothing stands in for it in.
    """
    trace: Any = state.trace
    while trace is not None:
        if isinstance(x, Tracer) and x._trace is trace:
            return x
        if isinstance(trace, StagingTrace):
            found = trace.opened.get(id(x))
            if found is None:
                raise MutableValueError(x, trace.origin)
            return found[1]
        trace = getattr(trace, "parent", None)
    return x


def current_state(x: Any) -> Any:
    """The state of a mutable value at this point of the program; of a tracer, that of its primal."""
    found = current(x)
    if not isinstance(found, Tracer):
        return found.cur_qdd()
    outer = getattr(found._trace, "parent", None)
    if outer is None:
        raise TypeError(
            f"{found._trace.origin} takes a mutable value of type {found.aval}, which is an argument only of jit, cond and switch. "
            "Close over it."
        )
    previous = state.trace
    state.trace = outer
    try:
        return current_state(found.primal)
    finally:
        state.trace = previous


def stands_for(trace: StagingTrace, value: Any, stand_in: Any) -> None:
    """Let an object stand in for a mutable value while a function is staged."""
    trace.opened[id(value)] = value, stand_in


class Opened:
    """Mutable values that a function takes along: what they hold, before it and after it.

    Args:
        values: the values. A function that is run with this one meets them, or gets what stands in for them.

    Attributes:
        states: of the values, before.
        final: of the values, after, once a function has run.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)
        self.types: list[Any] = [aval_of(v) for v in values]
        self.states = [current_state(v) for v in values]
        self.final: list[Any] = []

    @property
    def held(self) -> list[Any]:
        """What each of the values holds now."""
        return self.held_by(self.values)

    def held_by(self, values: Sequence[Any]) -> list[Any]:
        """What values in the same states hold."""
        return [
            t.read(s, current(v)) for t, s, v in zip(self.types, self.states, values, strict=True)
        ]

    def run(self, call: Callable[..., _T], held: Sequence[Any]) -> tuple[_T, list[Any]]:
        """Call a function of what stands in for the values, while a function is staged.

        Args:
            call: the function.
            held: what the values hold before.

        Returns:
            Its result, and what the values hold after it.
        """
        trace: Any = state.trace
        stand_ins = [t.made(s, h) for t, s, h in zip(self.types, self.states, held, strict=True)]
        for value, stand_in in zip(self.values, stand_ins, strict=True):
            stands_for(trace, value, stand_in)
            stands_for(trace, stand_in, stand_in)
        result = call(*stand_ins)
        self.final = [current_state(x) for x in stand_ins]
        return result, [
            t.read(s, x) for t, s, x in zip(self.types, self.final, stand_ins, strict=True)
        ]

    def forget(self, count: int) -> None:
        """Let go of the first values, which stand for others in further calls."""
        self.values[:count] = [None] * count

    def check_unchanged(self, who: str) -> None:
        """Raise if a function that may run any number of times changes a state.

        Raises:
            TypeError: it does.
        """
        for aval, before, after in zip(self.types, self.states, self.final, strict=True):
            if before != after:
                raise TypeError(
                    f"{who}: type-changing mutations not allowed: a mutable value of type {aval} holds {before} before, and {after} "
                    "after. Set it to values of the types that it had."
                )

    def write(self, held: Sequence[Any], values: Sequence[Any] | None = None) -> None:
        """Put values, by default those of this object, in their final states."""
        chosen = self.values if values is None else values
        for aval, final, value, h in zip(self.types, self.final, chosen, held, strict=True):
            aval.write(final, current(value), h)


def with_opened(first: MutableValueError, attempt: Callable[[Opened], _T]) -> _T:
    """Run what met a mutable value with that value opened, and with others that it meets.

    Args:
        first: what was raised without it.
        attempt: what to run, given the opened values.
    """
    values = [first.value]
    while True:
        opened = Opened(values)
        try:
            return attempt(opened)
        except MutableValueError as met:
            if any(met.value is v for v in values):
                raise
            values.append(met.value)
