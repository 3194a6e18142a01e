"""A program as data: inputs, steps, results. Its printed Python source is what runs.

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


@dataclass
class Program:
    """Inputs, steps and results, and the type of each value."""

    inputs: list[Input]
    steps: list[Step]
    results: list[int]
    avals: dict[int, Aval]
    x64: bool = False

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
        )

    def all_steps(self) -> Iterator[Step]:
        """Every step, including those of bodies."""
        return _walk(self.steps)

    def source(self) -> str:
        """Its constants, and the function ``program``, as Python source."""
        parameters = ", ".join(f"v{x.number}" for x in self.arguments)
        constants = [f"v{x.number} = {x.source}" for x in self.inputs if x.constant]
        lines = block(Body([], self.steps, self.results), always_tuple=True)
        whole = [*constants, f"def program({parameters}):", *("    " + line for line in lines)]
        return "\n".join(whole) + "\n"


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

{source}

def arguments():
    return [
{arguments}    ]

with jax.default_device("numpy"), jax.disable_jit():
    expected = program(*arguments())
with jax.default_device({backend!r}):
    found = jax.jit(program)(*arguments())
for a, b in zip(found, expected):
    print({backend!r}, a.dtype, np.asarray(a), "\\nexpected", b.dtype, np.asarray(b))
"""


def script(program: Program, backend: str) -> str:
    """A stand-alone script that runs a program on NumPy step by step, and compiled for a backend."""
    arguments = "".join(f"        {x.source},\n" for x in program.arguments)
    return SCRIPT.format(
        source=program.source(), arguments=arguments, x64=program.x64, backend=backend
    )
