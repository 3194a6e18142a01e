"""Calls of a jitted function that takes mutable values, or closes over them.

What they hold goes into the compiled program and comes out of it. A program belongs to the states of the values: for others the
function is traced again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.transforms.mutable_values import (
    MutableValueError,
    Opened,
    current_state,
    is_mutable,
)


class OpenedProgram:
    """A function compiled for arguments of given types, with mutable values in given states.

    Attributes:
        met: the mutable values that it closes over.
        opened: those that it takes and those that it closes over.
        call: ``(held, arrays) -> (result, held)``, compiled.
    """

    def __init__(self, met: Sequence[Any], opened: Opened, call: Callable[..., Any]) -> None:
        self.met = list(met)
        self.opened = opened
        self.call = call

    def fits(self, passed: Sequence[Any]) -> bool:
        """Whether the values are in the states that the program was made for."""
        values = [*passed, *self.met]
        return all(current_state(v) == s for v, s in zip(values, self.opened.states, strict=True))

    def run(self, passed: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """The result, after the values have been written."""
        opened, values = self.opened, [*passed, *self.met]
        result, held = self.call(opened.held_by(values), list(arrays))
        opened.write(held, values)
        return result


def call_opened(
    known: list[OpenedProgram],
    leaves: Sequence[Any],
    met: list[Any],
    rebuilt: Callable[[Sequence[Any]], Any],
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]],
    name: str,
) -> Any:
    """Call a function of leaves, of which some may be mutable values.

    Args:
        known: programs for leaves of these types; a new one is added.
        leaves: of the arguments.
        met: a mutable value that the function closes over, if one is known; others are added.
        rebuilt: the function.
        compiled: makes the compiled form of a function.
        name: of the function, for messages.

    Raises:
        ValueError: a mutable value comes twice.
    """
    passed = [x for x in leaves if is_mutable(x)]
    arrays = [x for x in leaves if not is_mutable(x)]
    for program in known:
        if program.fits(passed):
            _check_distinct(name, [*passed, *program.met])
            return program.run(passed, arrays)
    places = [is_mutable(x) for x in leaves]
    while True:
        _check_distinct(name, [*passed, *met])
        opened = Opened([*passed, *met])
        program = OpenedProgram(met, opened, compiled(_opening(opened, places, rebuilt, name)))
        try:
            result = program.run(passed, arrays)
        except MutableValueError as found:
            if any(found.value is v for v in met):
                raise
            met.append(found.value)
        else:
            opened.forget(len(passed))
            known.append(program)
            return result


def results_of(
    leaves: Sequence[Any],
    rebuilt: Callable[[Sequence[Any]], Any],
    traced: Callable[..., Any],
    name: str,
) -> Any:
    """What a function of leaves gives when it is traced; mutable values, among them or closed over, stay as they are.

    Args:
        leaves: of the arguments.
        rebuilt: the function.
        traced: traces a function of two arguments, and gives its results.
        name: of the function, for messages.

    Raises:
        ValueError: a mutable value comes twice.
    """
    places = [is_mutable(x) for x in leaves]
    passed = [x for x, m in zip(leaves, places, strict=True) if m]
    arrays = [x for x, m in zip(leaves, places, strict=True) if not m]
    met: list[Any] = []
    while True:
        _check_distinct(name, [*passed, *met])
        opened = Opened([*passed, *met])
        opening = _opening(opened, places, rebuilt, name)
        try:
            return traced(
                lambda held, arrays, run=opening: run(held, arrays)[0], opened.held, arrays
            )
        except MutableValueError as found:
            if any(found.value is v for v in met):
                raise
            met.append(found.value)


def _opening(
    opened: Opened, places: Sequence[bool], rebuilt: Callable[[Sequence[Any]], Any], name: str
) -> Callable[..., Any]:
    def function(held: Any, arrays: Sequence[Any]) -> Any:
        def call(*stand_ins: Any) -> Any:
            mutable, others = iter(stand_ins), iter(arrays)
            return rebuilt([next(mutable) if m else next(others) for m in places])

        return opened.run(call, held)

    function.__name__ = name
    return function


def _check_distinct(name: str, values: Sequence[Any]) -> None:
    if len({id(v) for v in values}) != len(values):
        raise ValueError(
            f"jit({name}): a mutable value was passed twice, or closed over and passed. Use one of the two."
        )
