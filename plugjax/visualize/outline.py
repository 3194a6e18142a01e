"""A program as pictures need it: names, texts and places as strings, nested programs within their equations, up to a bound."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from plugjax.extend.transforms import VariableNames, print_equation


@dataclass(frozen=True)
class Value:
    """A variable.

    Attributes:
        name: as the printed program has it.
        kind: its type in short, as ``f32[4]``.
    """

    name: str
    kind: str


@dataclass
class Step:
    """An equation.

    Attributes:
        label: the primitive, with the name of a function that it calls.
        text: the whole equation; programs within it are ``{…}``.
        source: the user's line; empty if it is not known.
        reads: names of the variables that it reads.
        makes: what it makes.
        programs: the programs within it, by the name of the parameter.
    """

    label: str
    text: str
    source: str
    reads: list[str]
    makes: list[Value]
    programs: list[tuple[str, Program]] = field(default_factory=list)


@dataclass
class Program:
    """A program.

    Attributes:
        constants, inputs: its variables from outside.
        steps: its equations, as many as there was space for.
        outputs: names of the results, or the constants that stand for them.
        omitted: number of equations that are left out, those of nested programs not counted.
    """

    constants: list[Value]
    inputs: list[Value]
    steps: list[Step]
    outputs: list[str]
    omitted: int = 0

    @property
    def size(self) -> int:
        """Number of equations, without those of nested programs."""
        return len(self.steps) + self.omitted


def outline(program: ClosedJaxpr | Jaxpr, limit: int) -> Program:
    """The outline of a program with at most ``limit`` equations, those of nested programs included."""
    inner = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    # Each nested program is shown in its equation, not by its text there.
    elsewhere = _Everywhere()
    return _Builder(VariableNames(shared=elsewhere), limit).program(inner)


class _Everywhere(dict[Jaxpr, str]):
    """Every program has a text of its own elsewhere."""

    def get(self, key: Any, default: Any = None) -> str:
        return "{…}"


class _Builder:
    def __init__(self, names: VariableNames, left: int) -> None:
        self._names = names
        self._left = left

    def program(self, jaxpr: Jaxpr) -> Program:
        self._names.enter(jaxpr)
        constants = list(map(self._value, jaxpr.constvars))
        inputs = list(map(self._value, jaxpr.invars))
        steps = []
        for eqn in jaxpr.eqns:
            if self._left <= 0:
                break
            self._left -= 1
            steps.append(self._step(eqn))
        outputs = list(map(self._read, jaxpr.outvars))
        return Program(constants, inputs, steps, outputs, len(jaxpr.eqns) - len(steps))

    def _value(self, variable: Any) -> Value:
        return Value(self._names(variable), variable.aval.str_short(True))

    def _read(self, atom: Any) -> str:
        return str(atom.val) if isinstance(atom, Literal) else self._names(atom)

    def _step(self, eqn: JaxprEqn) -> Step:
        makes = list(map(self._value, eqn.outvars))
        text = print_equation(eqn, self._names, 0)
        name = eqn.params.get("name")
        label = eqn.primitive.name + (f" {name}" if isinstance(name, str) else "")
        literals = [str(v.val) for v in eqn.invars if isinstance(v, Literal)]
        reads = [self._names(v) for v in eqn.invars if not isinstance(v, Literal)]
        if literals:
            label += f" {', '.join(literals)}"
        nested = [(key, self.program(inner)) for key, inner in _programs(eqn)]
        return Step(label, text, str(eqn.source or ""), reads, makes, nested)


def _programs(eqn: JaxprEqn) -> Iterator[tuple[str, Jaxpr]]:
    for key, value in sorted(eqn.params.items()):
        several = isinstance(value, (tuple, list))
        for i, item in enumerate(value if several else (value,)):
            inner = item.jaxpr if isinstance(item, ClosedJaxpr) else item
            if isinstance(inner, Jaxpr):
                yield (f"{key}[{i}]" if several else key), inner


__all__ = ["Program", "Step", "Value", "outline"]
