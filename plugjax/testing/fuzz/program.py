"""A program as data: inputs, steps, results, transformations of the whole. Its printed Python source is what runs.

Each value has a number that is unique in the whole program; ``v7`` is its name in the source. A step's expression is a
template: ``{0}`` stands for its first operand, ``{f0}`` for the function of its first body. A body may read any value
of the enclosing programs, as a Python closure does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Aval:
    """Type of a value."""

    dtype: str
    shape: tuple[int, ...]
    weak: bool = False

    @property
    def kind(self) -> str:
        """``b``, ``i``, ``u``, ``f`` or ``c``; bfloat16 is ``f``."""
        return "f" if self.dtype == "bfloat16" else np.dtype(self.dtype).kind

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape))

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of a name, including bfloat16."""
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


@dataclass
class Input:
    """An argument of the program, or a constant in it.

    Args:
        values: elements in row-major order, as Python literals.
        constant: whether the program closes over it.
    """

    number: int
    aval: Aval
    values: list[str]
    constant: bool = False

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The value as a NumPy array."""
        numbers = [eval(v, {"nan": np.nan, "inf": np.inf}) for v in self.values]
        wide = {"f": np.float64, "c": np.complex128}.get(self.aval.kind, object)
        with np.errstate(all="ignore"):
            flat: np.ndarray[Any, Any] = np.array(numbers, wide)
            return flat.reshape(self.aval.shape).astype(numpy_dtype(self.aval.dtype))

    @property
    def source(self) -> str:
        """The value as Python source."""
        flat = (
            f"jnp.array([{', '.join(self.values)}], jnp.{self.aval.dtype.replace('bool', 'bool_')})"
        )
        return flat if len(self.aval.shape) == 1 else f"{flat}.reshape({self.aval.shape})"


@dataclass
class Body:
    """A function in the program: parameters, steps, results."""

    parameters: list[int]
    steps: list[Step]
    results: list[int]


@dataclass
class Step:
    """One operation.

    Args:
        rule: name of the rule that drew it.
        expression: template of its Python source.
        operands: numbers of the values it reads.
        results: numbers of the values it makes; with several, the expression gives a tuple.
    """

    rule: str
    expression: str
    operands: list[int]
    results: list[int]
    bodies: list[Body] = field(default_factory=list)


# What the compiled function gives: the results, their gradient, the results of a batch of two.
TRANSFORMS = ("forward", "gradient", "batch")


@dataclass
class Program:
    """Inputs, steps and results, and the type of each value.

    Args:
        transforms: some of `TRANSFORMS`. All are in one function, which is compiled once.
    """

    inputs: list[Input]
    steps: list[Step]
    results: list[int]
    avals: dict[int, Aval]
    x64: bool = False
    transforms: tuple[str, ...] = ("forward",)

    @property
    def arguments(self) -> list[Input]:
        """Inputs that are passed in."""
        return [x for x in self.inputs if not x.constant]

    def to_json(self) -> str:
        """The program as text."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Program:
        """The program from its JSON."""
        data = json.loads(text)
        return Program(
            [Input(**{**x, "aval": _aval(x["aval"])}) for x in data["inputs"]],
            [_step(s) for s in data["steps"]],
            data["results"],
            {int(k): _aval(a) for k, a in data["avals"].items()},
            data["x64"],
            tuple(data["transforms"]),
        )

    def all_steps(self) -> Iterator[Step]:
        """Every step, including those of bodies."""
        return _walk(self.steps)

    def source(self) -> str:
        """Its constants, and the function ``program``, as Python source."""
        parameters = ", ".join(f"v{x.number}" for x in self.arguments)
        constants = [f"v{x.number} = {x.source}" for x in self.inputs if x.constant]
        lines = block(Body([], self.steps, self.results), always_tuple=True)
        plain = self.transforms == ("forward",)
        name = "program" if plain else "forward"
        whole = [*constants, f"def {name}({parameters}):", *("    " + line for line in lines)]
        if not plain:
            pairs = ", pairs" if "batch" in self.transforms else ""
            whole += [f"def program({parameters}{pairs}):", *("    " + line for line in self._whole())]  # fmt: skip
        return "\n".join(whole) + "\n"

    def _whole(self) -> list[str]:
        """Lines of the function that calls ``forward`` and its transformations."""
        names = [f"v{x.number}" for x in self.arguments]
        call = f"forward({', '.join(names)})"
        parts = {
            "forward": [f"values = {call}"],
            "gradient": self._gradient(call),
            "batch": ["batch = jax.vmap(forward)(*pairs)"],
        }
        lines = [line for name in self.transforms for line in parts[name]]
        made = ("values" if name == "forward" else name for name in self.transforms)
        return [*lines, f"return ({', '.join(f'*{name}' for name in made)},)"]

    def _gradient(self, call: str) -> list[str]:
        """Lines that differentiate the sum of all floating results by all floating arguments."""
        wrt = ", ".join(f"v{x.number}" for x in self.arguments if x.aval.kind == "f")
        floats = [i for i, r in enumerate(self.results) if self.avals[r].kind == "f"]
        return [
            f"ys, pullback = jax.vjp(lambda {wrt}: [{call}[i] for i in {floats}], {wrt})",
            "gradient = pullback([jnp.ones_like(y) for y in ys])",
        ]

    @property
    def operands(self) -> list[Any]:
        """What ``program`` is called with: the arguments, and for a batch their list, each beside itself with its elements moved by one place."""
        arrays = [x.array for x in self.arguments]
        pairs = [[np.stack([x, np.roll(x, 1)]) for x in arrays]]
        return [*arrays, *(pairs if "batch" in self.transforms else [])]

    @property
    def possible(self) -> tuple[str, ...]:
        """The transformations that can be applied: a batch needs arguments, a gradient floating ones and floating results."""
        given = [x.aval.kind for x in self.arguments]
        made = [self.avals[r].kind for r in self.results]
        fits = {"forward": True, "gradient": "f" in given and "f" in made, "batch": bool(given)}
        return tuple(name for name in TRANSFORMS if fits[name])


def _aval(data: dict[str, Any]) -> Aval:
    return Aval(data["dtype"], tuple(data["shape"]), data["weak"])


def _step(data: dict[str, Any]) -> Step:
    bodies = [
        Body(b["parameters"], [_step(s) for s in b["steps"]], b["results"]) for b in data["bodies"]
    ]
    return Step(**{**data, "bodies": bodies})


def _walk(steps: list[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        for body in step.bodies:
            yield from _walk(body.steps)


def block(body: Body, always_tuple: bool = False) -> list[str]:
    """Lines of a function's body."""
    lines = [line for step in body.steps for line in step_lines(step)]
    names = ", ".join(f"v{r}" for r in body.results)
    if always_tuple and len(body.results) == 1:
        names += ","
    return [*lines, f"return {names}" if names else "return ()"]


def step_lines(step: Step) -> list[str]:
    """Lines of one step: its functions, then the assignment."""
    lines, functions = [], {}
    for i, body in enumerate(step.bodies):
        name = f"f{step.results[0]}_{i}"
        functions[f"f{i}"] = name
        lines.append(f"def {name}({', '.join(f'v{p}' for p in body.parameters)}):")
        lines += ["    " + line for line in block(body)]
    names = [f"v{i}" for i in step.operands]
    targets = [f"v{r}" for r in step.results]
    lines.append(f"{', '.join(targets)} = {step.expression.format(*names, **functions)}")
    return lines


def reads(step: Step) -> set[int]:
    """Numbers of the outer values that a step and its bodies read."""
    found = set(step.operands)
    for body in step.bodies:
        inner: set[int] = set(body.results)
        made = set(body.parameters)
        for s in body.steps:
            inner |= reads(s)
            made |= set(s.results)
        found |= inner - made
    return found


SCRIPT = """\
import numpy as np
from numpy import inf, nan

import plugjax as jax
import plugjax.numpy as jnp
from plugjax import lax

jax.config.update("jax_enable_x64", {x64})
# What is wrong or refused is not repaired.
jax.config.update("verify", "off")
jax.config.update("fallback", "error")

{source}

def arguments():
    return [
{arguments}    ]

operands = arguments()
{pairs}
with jax.default_device("numpy"):
    try:
        with jax.disable_jit():
            expected = program(*operands)
    except ValueError:  # A scan of no steps has to be traced.
        expected = program(*operands)
with jax.default_device({backend!r}):
    found = jax.jit(program)(*operands)
for a, b in zip(found, expected):
    print({backend!r}, a.dtype, np.asarray(a), "\\nexpected", b.dtype, np.asarray(b))
"""

# One batch of two: an argument, and its elements moved by one place.
PAIRS = "operands.append([np.stack([x, np.roll(x, 1)]) for x in operands])\n"


def script(program: Program, backend: str) -> str:
    """A stand-alone script that runs a program on NumPy step by step, and compiled for a backend."""
    arguments = "".join(f"        {x.source},\n" for x in program.arguments)
    pairs = PAIRS if "batch" in program.transforms else ""
    return SCRIPT.format(
        source=program.source(), arguments=arguments, pairs=pairs, x64=program.x64, backend=backend
    )
