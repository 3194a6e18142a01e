"""Rows of the op table as programs for devices that are not there: what their compilers say of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import plugjax
from plugjax.extend.core import Device, as_array
from plugjax.extend.errors import LoweringError
from plugjax.testing.checks import differentiable, operands, pullback
from plugjax.testing.row import Op


@dataclass(frozen=True, eq=False)
class Program:
    """A program of a row.

    Attributes:
        op: the row.
        name: ``"value"`` or ``"gradient"``.
        function: the program.
        operands: its arguments.
    """

    op: Op
    name: str
    function: Callable[..., Any]
    operands: tuple[Any, ...]

    def __repr__(self) -> str:
        return f"{self.op.name}: {self.name}"


def programs(op: Op) -> list[Program]:
    """The value of a row, and the pullback of its operands if it has one.

    Example:
        >>> from plugjax import lax
        >>> from plugjax.testing import Op, real
        >>> from plugjax.testing.ahead import programs
        >>> [each.name for each in programs(Op("sin", lax.sin_p, "sin", None, real(-3, 3), order=2))]
        ['value', 'gradient']
    """
    values = tuple(map(as_array, operands(op)))
    found = [Program(op, "value", op.function, values)]
    if op.order and op.reverse:
        function, point = differentiable(op, list(values))
        found.append(Program(op, "gradient", pullback(function), tuple(point)))
    return found


def refusal(program: Program, device: Device) -> str:
    """What the compiler for a device says against a program; empty if it compiles.

    Raises:
        Exception: the program cannot be traced.
    """
    traced = plugjax.jit(program.function, device=device).trace(*program.operands)
    try:
        # The bytes too: only executables for devices that are not there have them.
        len(traced.lower().compile().runtime_executable().code)
    except (LoweringError, RuntimeError) as error:
        return " ".join(str(error).split())
    return ""
