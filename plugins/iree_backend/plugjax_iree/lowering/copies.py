"""Values in a buffer of their own.

IREE 3.13 updates a value in place if it sees no other use of it, and there are uses that it does not see. What comes out of a barrier
is the same buffer, and an update of either changes both. What is computed of constants alone is computed for each update, and
afterwards once for all of them. What is written may be a part of what it is written to, and is read while that changes. So a barrier
that anybody may use, constants that are updated, and such parts, are copied here: a choice between a value and itself that the
compiler cannot know. ``flow.tensor.clone`` is a copy that it makes if it sees another use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.core import RuleSet, ShapedArray, lowering
from plugjax.core.dtypes import INT32
from plugjax.core.vocabulary import optimization_barrier_p
from plugjax.lax.conversion import copy_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Operation, Value

rules = RuleSet(__name__)

BARRIER = "stablehlo.optimization_barrier"
CLONE = "flow.tensor.clone"

# What writes into its first operand.
UPDATES = ("stablehlo.dynamic_update_slice", "stablehlo.scatter")

# What may give its first operand's buffer, or a part of it.
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

# What gives values that the compiler does not know, whatever the operands are.
UNKNOWN = (
    BARRIER,
    "func.call",
    "stablehlo.case",
    "stablehlo.custom_call",
    "stablehlo.while",
)


def opaque(x: Value) -> Value:
    """The same buffer, of which the compiler knows nothing."""
    if getattr(x.owner, "name", None) == "stablehlo.constant" and _is_unsigned(x):
        # IREE refuses a barrier behind an unsigned constant.
        return _bitcast(_barrier(_bitcast(x, _signed(x))), x.type)
    return _barrier(x)


def _barrier(x: Value) -> Value:
    return mlir.op(BARRIER, [x.type], [x]).result


def _bitcast(x: Value, kind: Any) -> Value:
    return mlir.op("stablehlo.bitcast_convert", [kind], [x]).result


def _is_unsigned(x: Value) -> bool:
    return str(x.type.element_type).startswith("ui")


def _signed(x: Value) -> Any:
    """The type of a value with its unsigned integers taken for signed ones."""
    return mlir.tensor(tuple(x.type.shape), np.dtype(f"int{x.type.element_type.width}"))


def either(ctx: EqnContext, x: Value, y: Value) -> Value:
    """The first, but the compiler cannot know, nor that another such choice is like this one."""
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


def to_update(ctx: EqnContext, x: Value) -> Value:
    """The value for an operation that works in place."""
    chosen = is_constant(x) or _is_chosen(x)
    x = copied(ctx, x)
    if chosen:
        return x
    # The compiler is told below what it may leave out, and before it begins the copy above is dropped if no one reads the value
    # afterwards (``late_readers.py``).
    if not _is_unsigned(x):
        return mlir.op(CLONE, [x.type], [x]).result
    # It is not known for unsigned integers.
    signed = _signed(x)
    return _bitcast(mlir.op(CLONE, [signed], [_bitcast(x, signed)]).result, x.type)


def apart(ctx: EqnContext, x: Value, target: Value) -> Value:
    """A value to be written into ``target``, which is not a part of it: IREE would read it while it writes."""
    source = root(x)
    if source != root(target) and getattr(source.owner, "name", None) not in UNKNOWN:
        return x
    # Behind a barrier: what is copied while it is written is read too late.
    return opaque(copied(ctx, x))


def _is_chosen(x: Value) -> bool:
    """Whether a value may be one of several that are there already."""
    operation = root(x).owner
    name = getattr(operation, "name", None)
    return name in UNKNOWN or (
        name == "stablehlo.select" and operation.operands[0].type.rank == 0 < x.type.rank
    )


def root(x: Value) -> Value:
    """What a value may be a part of."""
    while getattr(x.owner, "name", None) in VIEWS:
        x = x.owner.operands[0]
    return x


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


@rules.define(lowering, copy_p, platform="iree")
def _copy(ctx: EqnContext, x: Value) -> Value:
    return copied(ctx, x)


@rules.define(lowering, optimization_barrier_p, platform="iree")
def _optimization_barrier(ctx: EqnContext, *operands: Value) -> list[Value]:
    return [copied(ctx, x) for x in operands]
