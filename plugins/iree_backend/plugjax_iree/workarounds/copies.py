"""Copies, and what may share a buffer: the tools of workarounds for updates in place.

A copy is a choice between a value and itself behind a barrier, which the compiler cannot decide. ``flow.tensor.clone`` is a copy that IREE leaves
out where it sees no other use of the value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import INT32
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Operation, Value
from plugjax_iree.workarounds.switch import is_on

BARRIER = "stablehlo.optimization_barrier"
CLONE = "flow.tensor.clone"

# Operations that write into their first operand.
UPDATES = ("stablehlo.dynamic_update_slice", "stablehlo.scatter")

# Operations that may give their first operand's buffer, or a part of it.
VIEWS = (
    BARRIER,
    CLONE,
    "stablehlo.bitcast_convert",
    "stablehlo.broadcast_in_dim",
    "stablehlo.concatenate",
    "stablehlo.convert",
    "stablehlo.dynamic_slice",
    "stablehlo.pad",
    "stablehlo.reshape",
    "stablehlo.reverse",
    "stablehlo.slice",
    "stablehlo.transpose",
)

# Operations whose results the compiler does not know, even with constant operands.
UNKNOWN = (
    BARRIER,
    "func.call",
    "stablehlo.case",
    "stablehlo.custom_call",
    "stablehlo.while",
)


def opaque(x: Value) -> Value:
    """The same buffer behind a barrier: the compiler knows nothing of its elements."""
    is_constant = getattr(x.owner, "name", None) == "stablehlo.constant"
    if is_constant and is_unsigned(x) and is_on("unsigned_barriers"):
        return bitcast(_barrier(bitcast(x, signed(x))), x.type)
    return _barrier(x)


def _barrier(x: Value) -> Value:
    return mlir.op(BARRIER, [x.type], [x]).result


def bitcast(x: Value, kind: Any) -> Value:
    """The bits of a value as another type."""
    return mlir.op("stablehlo.bitcast_convert", [kind], [x]).result


def is_unsigned(x: Value) -> bool:
    """Whether a value has unsigned integers."""
    return str(x.type.element_type).startswith("ui")


def signed(x: Value) -> Any:
    """The type of a value with its unsigned integers taken for signed ones."""
    return mlir.tensor(tuple(x.type.shape), np.dtype(f"int{x.type.element_type.width}"))


def either(ctx: EqnContext, x: Value, y: Value) -> Value:
    """The first of two values, by a choice that the compiler cannot decide, nor find equal to another such choice."""
    # Each gets a number of its own once all functions are inlined (``equal_copies.py``).
    number = opaque(mlir.constant(np.int32(1)))
    # Of the shape of the operands: a scalar would be read back to the host.
    numbers = ShapedArray(x.type.shape, INT32)
    number = mlir.broadcast(number, ShapedArray((), INT32), numbers)
    first = compare("NE", numbers, number, mlir.constant(np.int32(0), numbers.shape))
    return mlir.op("stablehlo.select", [x.type], [first, x, y]).result


def copied(ctx: EqnContext, x: Value) -> Value:
    """The value in a buffer of its own."""
    return either(ctx, x, opaque(x))


def is_copy(operation: Operation) -> bool:
    """Whether an operation is what `copied` makes."""
    if operation.name != "stablehlo.select":
        return False
    _, x, y = operation.operands
    return getattr(y.owner, "name", None) == BARRIER and y.owner.operands[0] == x


def root(x: Value) -> Value:
    """The value whose buffer another value may share, through views."""
    while getattr(x.owner, "name", None) in VIEWS or _is_slice(x.owner):
        x = x.owner.operands[0]
    return x


def _is_slice(operation: Operation) -> bool:
    """Whether an operation is a gather of one slice, or of as many elements as the array has; IREE may give them without reading."""
    if getattr(operation, "name", None) != "stablehlo.gather":
        return False
    array, found = (math.prod(x.type.shape) for x in (operation.operands[0], operation.result))
    return found in (array, math.prod(operation.attributes["slice_sizes"]))


def is_constant(x: Value) -> bool:
    """Whether a value is computed of constants alone."""
    pending, seen = [x], {x}
    while pending:
        operation = pending.pop().owner
        # An argument of a block has none.
        if getattr(operation, "name", None) in (None, *UNKNOWN):
            return False
        for operand in operation.operands:
            if operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return True
