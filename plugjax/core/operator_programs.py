"""What an operator, or a function of arrays, does with operands of given avals, as one closure over host kernels.

The operator runs once on a trace that hands every primitive to the evaluator and notes it. If all its operands were the
operator's own, or results of earlier primitives, the notes are a straight-line program, and running the kernels one after
the other is the same as running the operator. Anything else (a constant, a result on another device, a primitive that must
be compiled) leaves the operator on the general road.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.core.array import Array
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.device import Placement
from plugjax.core.host_kernels import host_kernel
from plugjax.core.host_math import QUIET, enter, leave
from plugjax.core.primitive import Primitive
from plugjax.core.trace import Trace

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
        if config.read("numpy_rank_promotion") == "warn":
            return general
        kernel = _chain(self.steps, len(self.operands))
        aval, placement = result.aval, self.placement
        if len(self.operands) == 1:
            return _of_one(kernel, aval, placement)
        if len(self.operands) == 3:
            return _of_three(kernel, aval, placement)
        if self.scalar is None:
            return _of_two(kernel, aval, placement)
        return _of_array_and_scalar(kernel, aval, placement, general, self.scalar.dtype.type)


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


def _of_one(kernel: Callable[..., Any], aval: ShapedArray, placement: Placement) -> Operator:
    def run(x: Array) -> Array:
        host = x._host
        if host is None:
            host = x._fetch()
        token = enter(QUIET)
        try:
            return Array(aval, placement, kernel(host))
        finally:
            leave(token)

    return run


def _of_two(kernel: Callable[..., Any], aval: ShapedArray, placement: Placement) -> Operator:
    def run(x: Array, y: Array) -> Array:
        left, right = x._host, y._host
        if left is None:
            left = x._fetch()
        if right is None:
            right = y._fetch()
        token = enter(QUIET)
        try:
            return Array(aval, placement, kernel(left, right))
        finally:
            leave(token)

    return run


def _of_three(kernel: Callable[..., Any], aval: ShapedArray, placement: Placement) -> Operator:
    def run(*arrays: Array) -> Array:
        hosts = [x._host if x._host is not None else x._fetch() for x in arrays]
        token = enter(QUIET)
        try:
            return Array(aval, placement, kernel(*hosts))
        finally:
            leave(token)

    return run


def _of_array_and_scalar(
    kernel: Callable[..., Any],
    aval: ShapedArray,
    placement: Placement,
    general: Operator,
    convert: Callable[[Any], Any],
) -> Operator:
    # Constants of a loop's body are the same objects in each step: the last one is kept, converted.
    kept: tuple[Any, Any] = (None, None)

    def run(x: Array, number: Any) -> Any:
        nonlocal kept
        last, scalar = kept
        if last is not number:
            try:
                scalar = convert(number)
            except OverflowError:
                return general(x, number)
            kept = (number, scalar)
        host = x._host
        if host is None:
            host = x._fetch()
        token = enter(QUIET)
        try:
            return Array(aval, placement, kernel(host, scalar))
        finally:
            leave(token)

    return run


def _chain(steps: Sequence[_Step], count: int) -> Callable[..., Any]:
    """A function of ``count`` host values that runs the steps."""
    if len(steps) == 1 and steps[0].positions == tuple(range(count)):
        return steps[0].kernel
    arguments = ", ".join(f"v{i}" for i in range(count))
    lines = []
    for number, step in enumerate(steps):
        operands = ", ".join(f"v{p}" for p in step.positions)
        lines.append(f"    v{count + number} = kernel{number}({operands})")
    source = "\n".join([f"def run({arguments}):", *lines, f"    return v{count + len(steps) - 1}"])
    namespace: dict[str, Any] = {f"kernel{i}": step.kernel for i, step in enumerate(steps)}
    exec(compile(source, "<plugjax operator>", "exec"), namespace)
    run: Callable[..., Any] = namespace["run"]
    return run
