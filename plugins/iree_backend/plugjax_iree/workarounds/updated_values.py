"""Operands of updates.

IREE 3.13 updates a value in place if it sees no other user, and it misses users of the same buffer: users of a barrier's operand, of a constant
(computed once for all updates), of the values that a branch or a loop passes on. So each update works on a copy of its own.
``flow.tensor.clone`` is a copy that IREE leaves out if it sees no other user of the value.
"""

from __future__ import annotations

from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value
from plugjax_iree.workarounds.copies import (
    CLONE,
    UNKNOWN,
    bitcast,
    copied,
    is_constant,
    is_unsigned,
    root,
    signed,
)
from plugjax_iree.workarounds.switch import is_on


def to_update(ctx: EqnContext, x: Value) -> Value:
    """The value for an operation that works in place."""
    if not is_on("updated_values"):
        return x
    chosen = is_constant(x) or _is_chosen(x)
    x = copied(ctx, x)
    if chosen:
        return x
    # `late_users` removes the copy above if the value has no later user. The clone below is then IREE's own copy, which IREE may
    # leave out.
    if not is_unsigned(x):
        return mlir.op(CLONE, [x.type], [x]).result
    # IREE does not compile clones of unsigned integers.
    kind = signed(x)
    return bitcast(mlir.op(CLONE, [kind], [bitcast(x, kind)]).result, x.type)


def _is_chosen(x: Value) -> bool:
    """Whether a value may be the buffer of another value: the result of a branch, a loop, a barrier or a choice."""
    operation = root(x).owner
    name = getattr(operation, "name", None)
    return name in UNKNOWN or (
        name == "stablehlo.select" and operation.operands[0].type.rank == 0 < x.type.rank
    )
