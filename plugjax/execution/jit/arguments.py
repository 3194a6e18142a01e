"""What of a call's arguments reaches the compiled program.

Arguments that nothing reads are dropped, unless they are to be kept. Of those that are donated, each gives its memory to one
result of its shape and dtype, is then deleted, and may be given once; one that fits no result is left alone, with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax.core.array import Array
from plugjax.core.aval import ShapedArray
from plugjax.core.errors import JaxRuntimeError
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.transforms.dce import prune_closed

# Gives an Array, or a list of them.
Call = Callable[[Sequence[Array]], Any]


@dataclass(frozen=True, slots=True)
class ArgumentPlan:
    """A program and the arguments that it takes.

    Attributes:
        program: the program, without the inputs that were dropped.
        kept: which arguments it takes, as positions.
        total: how many the function has.
        donated: which arguments give their memory away, as positions among all.
        unusable: avals of those that were donated in vain.
    """

    program: ClosedJaxpr
    kept: tuple[int, ...]
    total: int
    donated: tuple[int, ...]
    unusable: tuple[ShapedArray, ...]

    @property
    def donated_inputs(self) -> tuple[int, ...]:
        """Positions of the donated arguments among the program's inputs."""
        return tuple(self.kept.index(i) for i in self.donated)

    def warn(self) -> None:
        """Warn of what was donated in vain."""
        if self.unusable:
            names = ", ".join(aval.str_short() for aval in self.unusable)
            warnings.warn(
                # JAX's words: programs filter the warning by them.
                f"Some donated buffers were not usable: {names}.\nA result takes over memory of its own shape and dtype only.",
                stacklevel=2,
            )

    def call(self, run: Call) -> Call:
        """From a function of the program's inputs to one of all arguments, which ends those that are donated."""
        if len(self.kept) < self.total:
            run = _taking(self.kept, run)
        return _consuming(self.donated, run) if self.donated else run


def plan_arguments(jaxpr: ClosedJaxpr, donated: Sequence[int], keep_unused: bool) -> ArgumentPlan:
    """Settle which arguments a program takes and which of the donated ones it can use.

    Args:
        jaxpr: the program of all arguments.
        donated: positions of the arguments that the user gives away.
        keep_unused: whether arguments that nothing reads stay.
    """
    avals = jaxpr.in_avals
    program, needed = jaxpr, [True] * len(avals)
    if not keep_unused:
        program, needed = prune_closed(jaxpr, (True,) * len(jaxpr.out_avals))
        if all(needed):
            program = jaxpr
    free: dict[ShapedArray, int] = {}
    if donated:
        for aval in jaxpr.out_avals:
            key = aval.strip_weak_type()
            free[key] = free.get(key, 0) + 1
    usable: list[int] = []
    unusable: list[ShapedArray] = []
    for i in donated:
        key = avals[i].strip_weak_type()
        if not needed[i]:
            continue
        if free.get(key):
            free[key] -= 1
            usable.append(i)
        else:
            unusable.append(avals[i])
    kept = tuple(i for i, n in enumerate(needed) if n)
    return ArgumentPlan(program, kept, len(avals), tuple(usable), tuple(unusable))


def _taking(kept: tuple[int, ...], run: Call) -> Call:
    return lambda arrays: run([arrays[i] for i in kept])


def _memory(x: Array) -> Any:
    """What stands for an array's memory: arrays that share it have one. Scalars on the host share nothing that matters."""
    if x._buffer is not None:
        return x._buffer
    return x._host if isinstance(x._host, np.ndarray) else x


def _consuming(donated: tuple[int, ...], run: Call) -> Call:
    def consume(arrays: Sequence[Array]) -> Any:
        # Different buffers are different memory, so most calls need no closer look.
        if len(arrays) > 1 and len({id(x._buffer) for x in arrays}) < len(arrays):
            _check_distinct(arrays, donated)
        results = run(arrays)
        for i in donated:
            x = arrays[i]
            x._host = x._buffer = None
        return results

    return consume


def _check_distinct(arrays: Sequence[Array], donated: tuple[int, ...]) -> None:
    first: dict[int, int] = {}
    for i, x in enumerate(arrays):
        j = first.setdefault(id(_memory(x)), i)
        if j != i and (i in donated or j in donated):
            raise JaxRuntimeError(
                f"INVALID_ARGUMENT: an argument is donated and used once more in the same call: arguments {j} and {i} "
                "are one array. Pass a copy, or do not donate it."
            )
