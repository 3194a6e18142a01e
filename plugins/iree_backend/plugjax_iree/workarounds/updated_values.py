"""Operands of updates.

IREE 3.13 updates a value in place if it sees no other use of it, and there are uses that it does not see: of what comes out of a barrier (the
same buffer), of constants (computed once for all updates), of what a branch or a loop gives. So an update works on a copy of its own.
``flow.tensor.clone`` is a copy that IREE leaves out where it sees that the value has no other use.
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
    # The compiler is told below what it may leave out, and before it begins the copy above is dropped if no one reads the value
    # afterwards (``late_users.py``).
    if not is_unsigned(x):
        return mlir.op(CLONE, [x.type], [x]).result
    # It is not known for unsigned integers.
    kind = signed(x)
    return bitcast(mlir.op(CLONE, [kind], [bitcast(x, kind)]).result, x.type)


def _is_chosen(x: Value) -> bool:
    """Whether a value may be one of several that are there already."""
    operation = root(x).owner
    name = getattr(operation, "name", None)
    return name in UNKNOWN or (
        name == "stablehlo.select" and operation.operands[0].type.rank == 0 < x.type.rank
    )
