"""How the variables of sizes follow from the shapes of arguments: by numbers for a call, or written into a module.

A size that holds one unknown variable, linearly, gives it. The sizes that gave none are checked, and so are the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from plugjax.export.symbolic.dimension import Dimension, as_polynomial, is_symbolic_dim
from plugjax.extend.core import ShapedArray

WRONG = "Input shapes do not match the polymorphic shapes specification"


class Step(NamedTuple):
    """One variable: ``slope * variable + rest`` is the size of an axis of an argument."""

    name: str
    argument: int
    axis: int
    size: Dimension
    slope: Any
    rest: Any


class Solution:
    """The steps by which the variables of the avals of arguments are found, and what is left to check.

    Raises:
        ValueError: the arguments do not say all variables.
    """

    def __init__(self, who: str, avals: Sequence[ShapedArray], needed: Sequence[Any] = ()) -> None:
        self.sizes = [
            (i, axis, d)
            for i, aval in enumerate(avals)
            for axis, d in enumerate(aval.shape)
            if is_symbolic_dim(d)
        ]
        self.steps: list[Step] = []
        known: set[str] = set()
        while self._extend(known):
            pass
        symbols = [d for _, _, d in self.sizes] + [d for d in needed if is_symbolic_dim(d)]
        unknown = frozenset().union(*(as_polynomial(d).variables for d in symbols)) - known
        if unknown:
            raise ValueError(
                f"{who}: Cannot solve for values of dimension variables {sorted(unknown)}: each must be the only unknown one "
                "in some size of an argument."
            )
        used = {(step.argument, step.axis) for step in self.steps}
        self.checked = [each for each in self.sizes if each[:2] not in used]
        self.scope = symbols[0].scope if symbols else None

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in the order in which they are found."""
        return tuple(step.name for step in self.steps)

    def _extend(self, known: set[str]) -> bool:
        for argument, axis, size in self.sizes:
            unknown = as_polynomial(size).variables - known
            if len(unknown) != 1:
                continue
            (name,) = unknown
            if not _is_linear(size, name):
                continue
            slope, rest = _parts(size, name)
            if slope == 0:
                continue
            self.steps.append(Step(name, argument, axis, size, slope, rest))
            known.add(name)
            return True
        return False


def _parts(size: Dimension, name: str) -> tuple[Any, Any]:
    """The slope and the rest of a size that is linear in a variable, as sizes."""
    scope = size.scope
    names = as_polynomial(size).variables
    others = {each: scope.variable(each) for each in names if each != name}
    rest = size.evaluate({**others, name: 0})
    return size.evaluate({**others, name: 1}) - rest, rest


def _is_linear(wanted: Dimension, name: str) -> bool:
    """Whether a variable stands in no operation and in no power."""
    for term, _ in as_polynomial(wanted).terms:
        for atom, power in term:
            inside = any(name in operand.variables for operand in atom.operands)
            if inside or (atom.label == name and not atom.operands and power > 1):
                return False
    return True


def value_of(size: Any, sizes: Mapping[str, Any], *operations: Any) -> Any:
    """The value of a size for values of the variables."""
    return size.evaluate(sizes, *operations) if is_symbolic_dim(size) else size


def solve(solution: Solution, who: str, name: str, avals: Sequence[ShapedArray]) -> dict[str, int]:
    """The values of the variables for arguments of these shapes.

    Raises:
        ValueError: no values of the variables give these shapes, or they do not satisfy the constraints.
    """
    sizes: dict[str, int] = {}
    for step in solution.steps:
        got = avals[step.argument].shape[step.axis]
        slope, rest = value_of(step.slope, sizes), value_of(step.rest, sizes)
        if slope == 0:
            raise ValueError(f"{who}: {WRONG}: {step.size} does not say '{step.name}' of '{name}'.")
        value, remainder = divmod(got - rest, slope)
        if remainder or value < 1:
            problem = (
                f"Division had remainder {remainder}"
                if remainder
                else f"Expected value >= 1, and it is {value},"
            )
            raise ValueError(
                f"{who}: {WRONG}: {problem} for dimension variable '{step.name}' of '{name}', where {step.size} is {got}."
            )
        sizes[step.name] = value
    for argument, axis, wanted in solution.checked:
        value, got = wanted.evaluate(sizes), avals[argument].shape[axis]
        if value != got:
            raise ValueError(
                f"{who}: {WRONG}: a size of '{name}' is {wanted}, which is {value} for {sizes}, and is {got} in the call."
            )
    for text, equal, difference in constraints_of(solution):
        value = value_of(difference, sizes)
        if value < 0 or (equal and value):
            raise ValueError(
                f"{who}: Input shapes do not match the symbolic shape constraint {text} of '{name}': the sizes are {sizes}."
            )
    return sizes


def constraints_of(solution: Solution) -> Sequence[tuple[str, bool, Any]]:
    """The constraints on the variables: their text, whether an equation, and the difference of their sides."""
    scope = solution.scope
    return (
        ()
        if scope is None
        else [
            (text, equal, difference)
            for text, equal, difference in scope.constraints()
            if as_polynomial(difference).variables <= set(solution.names)
        ]
    )


class Written:
    """The equations as operations of a module, with assertions.

    Args:
        solution: what is computed.
        operations: the operations of expressions, by name.
        assertion: ``(holds, message, numbers)`` ends the program with a message unless something holds.
        specification: the shapes of the arguments, for messages.
    """

    def __init__(
        self,
        solution: Solution,
        operations: Mapping[str, Callable[[Any, Any], Any]],
        assertion: Callable[..., None],
        specification: str,
    ) -> None:
        self.solution = solution
        self.names = solution.names
        self.operations = operations
        self.assertion = assertion
        self.specification = specification

    def write(self, size_of: Callable[[int, int], Any]) -> Sequence[Any]:
        """Write what computes the variables and what checks the shapes."""
        sizes: dict[str, Any] = {}

        def value(size: Any) -> Any:
            return value_of(size, sizes, self.operations)

        for step in self.solution.steps:
            found = size_of(step.argument, step.axis)
            if step.rest != 0:
                found = found - value(step.rest)
            if step.slope != 1:
                found, rest = found.divided(value(step.slope))
                self._check(
                    rest.is_("EQ", 0),
                    f"Division had remainder {{0}} for dimension variable '{step.name}' from {step.size}",
                    rest,
                )
            self._check(
                found.is_("GE", 1),
                f"Expected value >= 1 for dimension variable '{step.name}' from {step.size}, and it is {{0}}",
                found,
            )
            sizes[step.name] = found
        for argument, axis, wanted in self.solution.checked:
            got, right = size_of(argument, axis), value(wanted)
            self._check(
                got.is_("EQ", right),
                f"Found inconsistency between a dimension size {{0}} and the specification '{wanted}' (= {{1}})",
                got,
                right,
            )
        for text, equal, difference in constraints_of(self.solution):
            found = value(difference)
            self.assertion(
                found.is_("EQ" if equal else "GE", 0),
                f"Input shapes do not match the symbolic shape constraint {text}: the difference of its sides is {{0}}. "
                f"The shapes are {self.specification}.",
                [found.value],
            )
        return [sizes[name].value for name in self.names]

    def _check(self, holds: Any, message: str, *numbers: Any) -> None:
        words = f"{WRONG}. {message}. The shapes are {self.specification}."
        self.assertion(holds, words, [number.value for number in numbers])
