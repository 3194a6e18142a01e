"""The state of drawing: visible values, budget, and assigned numbers.

`level` follows magnitudes roughly. Programs of ordinary values refuse products of large values, so that results are not
all infinite.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.testing.fuzz.program import (
    Aval,
    Body,
    Input,
    Step,
    numpy_dtype,
    reads,
    step_lines,
)
from plugjax.testing.fuzz.values import draw_values

LARGEST, MOST_AXES, HIGHEST_LEVEL = 128, 4, 5
NARROW = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64")  # fmt: skip
WIDE = ("int64", "uint64", "float64", "complex128")
FLOATS = ("float32", "float32", "float32", "float16", "bfloat16")
Fits = Callable[[Aval], bool]


class NothingFitsError(Exception):
    """A rule has no operands here, or its result would be too large."""


class RefusedError(Exception):
    """The framework refuses to trace ``step``."""

    def __init__(self, step: Step, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.step = step


@dataclass(frozen=True)
class Rule:
    """A kind of steps."""

    name: str
    draw: Callable[[Scope], None]
    weight: float
    nests: bool


RULES: dict[str, Rule] = {}


def rule(
    weight: float = 1, nests: bool = False
) -> Callable[[Callable[[Scope], None]], Callable[[Scope], None]]:
    """Register a function that adds a step to a scope."""

    def register(draw: Callable[[Scope], None]) -> Callable[[Scope], None]:
        name = draw.__name__
        RULES[name] = Rule(name, draw, weight, nests)
        return draw

    return register


@dataclass
class Shared:
    """State that the scopes of one program share."""

    rng: np.random.Generator
    special: bool
    x64: bool
    numbers: Any = field(default_factory=lambda: itertools.count())
    inputs: list[Input] = field(default_factory=list)
    avals: dict[int, Aval] = field(default_factory=dict)
    levels: dict[int, int] = field(default_factory=dict)


@dataclass
class Scope:
    """A body that is being drawn.

    Args:
        visible: numbers of the visible values, oldest first.
        depth: number of enclosing bodies.
        reversible: whether its steps must have a transpose.
        differentiated: whether it is differentiated; ``forward``: in forward mode.
        ruled: whether it is in a function with a custom derivative; its inputs are constants.
    """

    shared: Shared
    visible: list[int]
    steps: list[Step]
    depth: int = 0
    reversible: bool = False
    differentiated: bool = False
    forward: bool = False
    ruled: bool = False
    rule: str = ""

    @property
    def rng(self) -> np.random.Generator:
        """The generator of all draws."""
        return self.shared.rng

    def one_of(self, things: Sequence[Any]) -> Any:
        """One of several, equally likely."""
        return things[int(self.rng.integers(len(things)))]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included."""
        return int(self.rng.integers(low, high + 1))

    def aval(self, number: int) -> Aval:
        """Type of a value."""
        return self.shared.avals[number]

    def level(self, number: int) -> int:
        """Rough magnitude of a value."""
        return self.shared.levels[number]

    def shape(self, ndim: int | None = None) -> tuple[int, ...]:
        """A small shape; sizes 0 and 1 are frequent."""
        n = self.one_of([0, 1, 1, 2, 2, 2, 3]) if ndim is None else ndim
        sizes = [1, 2, 3, 3, 4, 5] if self.chance(0.85) else [0, 1, 2, 3]
        return tuple(int(self.one_of(sizes)) for _ in range(n))

    def dtype(self, kinds: str = "biufc") -> str:
        """A dtype of one of the kinds; float32 is the most frequent."""
        if "f" in kinds and self.chance(0.5):
            return "float32"
        names = [*NARROW, *(WIDE if self.shared.x64 else ())]
        return str(self.one_of([n for n in names if Aval(n, ()).kind in kinds]))

    def pick(self, fits: Fits = lambda aval: True) -> int:
        """A visible value, preferably a late one."""
        found = [i for i in self.visible if fits(self.aval(i))]
        if not found:
            raise NothingFitsError
        weights = np.arange(1, len(found) + 1) ** 1.5
        return int(found[self.rng.choice(len(found), p=weights / weights.sum())])

    def want(self, fits: Fits, dtype: str, shape: tuple[int, ...]) -> int:
        """A visible value that fits; sometimes, or if there is none, a new input."""
        if self.chance(0.8):
            try:
                return self.pick(fits)
            except NothingFitsError:
                pass
        return self.input(Aval(dtype, shape))

    def array(
        self, kinds: str = "biufc", least: int = 0, most: int = MOST_AXES, nonempty: bool = False
    ) -> int:
        """A value of these kinds of dtype and numbers of axes."""

        def fits(aval: Aval) -> bool:
            return (
                aval.kind in kinds
                and least <= len(aval.shape) <= most
                and (aval.size > 0 or not nonempty)
            )

        shape = self.shape(self.integer(least, min(most, 3)))
        if nonempty:
            shape = tuple(max(n, 1) for n in shape)
        return self.want(fits, self.dtype(kinds), shape)

    def input(self, aval: Aval, values: list[str] | None = None) -> int:
        """A new input of the program."""
        if aval.size > LARGEST:
            raise NothingFitsError
        number = next(self.shared.numbers)
        values = draw_values(self.rng, aval, self.shared.special) if values is None else values
        self.shared.inputs.append(Input(number, aval, values, self.chance(0.3) or self.ruled))
        self.shared.avals[number] = aval
        self.shared.levels[number] = 1
        # It is visible to all later steps, so it stands first: late values are preferred.
        self.visible.insert(0, number)
        return number

    def axis(self, number: int) -> int:
        """An axis of a value."""
        ndim = len(self.aval(number).shape)
        if ndim == 0:
            raise NothingFitsError
        return self.integer(0, ndim - 1)

    def axes(self, number: int, least: int = 1) -> tuple[int, ...]:
        """Some axes of a value."""
        ndim = len(self.aval(number).shape)
        if ndim < least:
            raise NothingFitsError
        count = self.integer(least, ndim)
        return tuple(sorted(map(int, self.rng.permutation(ndim)[:count])))

    def step(
        self,
        expression: str,
        operands: Sequence[int],
        bodies: Sequence[Body] = (),
        results: int = 1,
        level: int | None = None,
    ) -> list[int]:
        """Add a step; tracing gives the types of its results.

        ``level`` is the rough magnitude of the results; by default that of the largest operand.

        Raises:
            NothingFitsError: a result would be too large or has grown too much.
            RefusedError: the framework refuses it.
        """
        if level is None:
            level = max((self.level(i) for i in operands), default=1)
        if level > HIGHEST_LEVEL and not self.shared.special:
            raise NothingFitsError
        numbers = [next(self.shared.numbers) for _ in range(results)]
        step = Step(self.rule, expression, list(operands), numbers, list(bodies))
        try:
            avals = infer(step, self.shared)
        except Exception as error:
            raise RefusedError(step, error) from error
        if any(a.size > LARGEST or len(a.shape) > MOST_AXES for a in avals):
            raise NothingFitsError
        for number, aval in zip(numbers, avals, strict=True):
            self.shared.avals[number] = aval
            self.shared.levels[number] = level
        self.steps.append(step)
        self.visible.extend(numbers)
        return numbers

    def body(
        self,
        parameters: Sequence[Aval],
        count: int,
        reversible: bool = False,
        forward: bool = False,
        ruled: bool = False,
    ) -> Inner:
        """Begin an inner function with ``count`` steps.

        A function with a custom derivative (``ruled``) closes over nothing, because its rule has no derivative by
        closed-over values.
        """
        numbers = [next(self.shared.numbers) for _ in parameters]
        for number, aval in zip(numbers, parameters, strict=True):
            self.shared.avals[number] = aval
            self.shared.levels[number] = 2
        outer = [i for i in self.visible if self.chance(0.5)]
        if ruled:
            outer = []
        inner = Inner(
            self.shared,
            [*outer, *numbers],
            [],
            self.depth + 1,
            self.reversible or reversible,
            self.differentiated or reversible or forward,
            self.forward or forward,
            self.ruled or ruled,
            parameters=numbers,
        )
        inner.grow(count)
        return inner

    def grow(self, count: int) -> None:
        """Draw ``count`` more steps."""
        allowed = [r for r in RULES.values() if not (r.nests and self.depth >= 2)]
        weights = np.array([r.weight for r in allowed])
        target, attempts = len(self.steps) + count, 0
        while len(self.steps) < target and attempts < 20 * count:
            attempts += 1
            chosen = allowed[self.rng.choice(len(allowed), p=weights / weights.sum())]
            before, self.rule = len(self.steps), chosen.name
            seen = list(self.visible)
            try:
                chosen.draw(self)
            except NothingFitsError:
                # Values of the inner part are invisible outside; new inputs stay visible.
                del self.steps[before:]
                made = {x.number for x in self.shared.inputs}
                self.visible = [i for i in self.visible if i in seen or i in made]


@dataclass
class Inner(Scope):
    """An inner scope with parameters, which its results close."""

    parameters: list[int] = field(default_factory=list)

    def close(self, results: Sequence[int]) -> Body:
        """The finished function."""
        return Body(list(self.parameters), self.steps, list(results))


def infer(step: Step, shared: Shared) -> list[Aval]:
    """Types of a step's results, by tracing."""
    free = sorted(reads(step))
    lines = [*step_lines(step), f"return [{', '.join(f'v{r}' for r in step.results)}]"]
    source = f"def step({', '.join(f'v{i}' for i in free)}):\n" + "\n".join(
        "    " + x for x in lines
    )
    namespace: dict[str, Any] = {"np": np, "jnp": jnp, "jax": plugjax, "lax": lax}
    exec(source, namespace)
    structs = [
        plugjax.ShapeDtypeStruct(a.shape, numpy_dtype(a.dtype), weak_type=a.weak)
        for a in (shared.avals[i] for i in free)
    ]
    out = plugjax.eval_shape(namespace["step"], *structs)
    return [Aval(str(y.dtype), tuple(y.shape), bool(y.weak_type)) for y in out]
