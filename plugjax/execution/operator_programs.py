"""What an operator, or a function of arrays, does with operands of given avals, as one closure over host kernels.

The operator runs once on a trace that passes every primitive to the evaluator and records it. If each operand is one of the
operator's own, or the result of an earlier primitive, the record is a straight-line program: its kernels, run in order, give
the operator's result. Anything else (a constant, a result on another device, a primitive that must
be compiled) leaves the operator on the general path.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.core.array import Array
from plugjax.core.aval import ShapedArray
from plugjax.core.device import Placement
from plugjax.core.dtypes import INT32_MAX, INT32_MIN, takes_wide_integers
from plugjax.core.primitive import Primitive, Trace
from plugjax.execution.host_kernels import host_kernel
from plugjax.execution.host_math import QUIET, SILENT, enter, leave

Operator = Callable[..., Any]
_SCALARS = (int, float, complex)


class _Step:
    """One primitive: its kernel, and where its operands come from."""

    __slots__ = ("kernel", "positions")

    def __init__(self, kernel: Callable[..., Any], positions: tuple[int, ...]) -> None:
        self.kernel = kernel
        self.positions = positions


class NotingTrace(Trace):
    """Hands primitives to the evaluator, and notes the program that they make."""

    __slots__ = ("operands", "parent", "placement", "scalar", "steps", "straight", "values")

    def __init__(self, parent: Trace, operands: Sequence[Any]) -> None:
        super().__init__("an operator")
        self.parent = parent
        self.operands = operands
        self.placement: Placement = operands[0]._placement
        self.steps: list[_Step] = []
        self.straight = True
        # Values by position: the operands come first, then one result per step.
        self.values: list[Any] = list(operands)
        self.scalar: ShapedArray | None = None

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Let the evaluator run the primitive, and write it down."""
        result = self.parent.process(primitive, args, params)
        positions = [self._position(x) for x in args]
        if (
            primitive.multiple_results
            or None in positions
            or result._placement is not self.placement
        ):
            self.straight = False
            return result
        kernel = host_kernel(
            primitive, [x.aval for x in args], [result.aval], params, self.placement
        )
        if kernel is None:
            self.straight = False
        else:
            self.steps.append(_Step(kernel, tuple(p for p in positions if p is not None)))
            self.values.append(result)
        return result

    def _position(self, x: Any) -> int | None:
        if type(x) is not Array or x._placement is not self.placement:
            return None
        for position, value in enumerate(self.values):
            if value is x:
                return position
        # A Python scalar becomes an array of rank 0 on its way to the first primitive.
        last = self.operands[-1]
        if type(last) in _SCALARS and self.scalar is None and _is_scalar(x, last):
            self.scalar = x.aval
            self.values[1] = x
            return 1
        return None

    def program(self, general: Operator, result: Any) -> Operator:
        """The operator for operands like these; ``general`` if it is no straight line."""
        if not (self.straight and self.steps and self.values[-1] is result):
            return general
        convert = None if self.scalar is None else self.scalar.dtype.type
        kernels = [s.kernel for s in self.steps]
        positions = tuple(s.positions for s in self.steps)
        silent = SILENT.issuperset(kernels)
        # A float takes any integer, and the general path refuses those beyond the default width. A narrow integer raises by itself.
        bounded = (
            self.scalar is not None
            and type(self.operands[-1]) is int
            and takes_wide_integers(self.scalar.dtype)
        )
        make = _maker(len(self.operands), convert is not None, positions, silent, bounded)
        return make(kernels, result.aval, self.placement, general, convert)


def _is_scalar(x: Array, number: Any) -> bool:
    dtype = x.aval.dtype
    if x.aval.shape or not isinstance(dtype, np.dtype):
        return False
    try:
        return bool(x._host == dtype.type(number))
    except (OverflowError, TypeError):
        return False


def can_note(operands: Sequence[Any]) -> bool:
    """Whether the types of the operands say, with their avals, all that an operator depends on."""
    if len(operands) == 1:
        return True
    # `x * x` would look as if it never read its second operand.
    if len({id(x) for x in operands}) < len(operands):
        return False
    if len(operands) > 2:
        return all(type(x) is Array for x in operands)
    return type(operands[1]) is Array or type(operands[1]) in _SCALARS


@functools.cache
def _maker(
    count: int, scalar: bool, steps: tuple[tuple[int, ...], ...], silent: bool, bounded: bool
) -> Callable[..., Operator]:
    """What makes an operator of kernels: a function written for programs of one form.

    Args:
        count: number of operands.
        scalar: whether the second operand is a Python scalar.
        steps: for each kernel, which values it reads: the operands come first, then the results of the kernels before.
        silent: whether no kernel can give NumPy a reason to warn.
        bounded: whether the Python scalar is an integer, which goes the general path if it is wider than 32 bits.
    """
    names = [f"x{i}" for i in range(count)]
    body = []
    for i in range(count - scalar):
        body += [f"v{i} = x{i}._host", f"if v{i} is None: v{i} = x{i}._fetch()"]
    if scalar:
        # Constants of a loop's body are the same objects in each step: the last one is kept, converted.
        body += [
            "nonlocal kept",
            "last, v1 = kept",
            "if last is not x1:",
            *(
                [f"    if not {INT32_MIN} <= x1 <= {INT32_MAX}: return general(x0, x1)"]
                if bounded
                else []
            ),
            "    try: v1 = convert(x1)",
            "    except OverflowError: return general(x0, x1)",
            "    kept = (x1, v1)",
        ]
    calls = [
        f"v{count + i} = kernel{i}({', '.join(f'v{p}' for p in positions)})"
        for i, positions in enumerate(steps)
    ]
    if silent:
        body += calls
    else:
        body += ["token = enter(QUIET)", "try:", *(f"    {call}" for call in calls)]
        body += ["finally: leave(token)"]
    # An Array, without the call of its constructor.
    body += ["array = new(Array)", "array.aval, array._placement = aval, placement"]
    body += [f"array._host, array._buffer = v{count + len(steps) - 1}, None", "return array"]
    head = [
        f"{', '.join(f'kernel{i}' for i in range(len(steps)))}, = kernels",
        "kept = (None, None)",
        f"def run({', '.join(names)}):",
    ]
    lines = [*head, *(f"    {line}" for line in body), "return run"]
    source = "def make(kernels, aval, placement, general, convert):\n" + "".join(
        f"    {line}\n" for line in lines
    )
    scope = {"Array": Array, "new": object.__new__, "QUIET": QUIET, "enter": enter, "leave": leave}
    exec(compile(source, "<plugjax operator>", "exec"), scope)
    make: Callable[..., Operator] = scope["make"]
    return make
