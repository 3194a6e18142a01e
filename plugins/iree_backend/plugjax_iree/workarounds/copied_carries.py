"""Loops that update in place what they carry.

IREE 3.13 copies a carry of a loop before each update of a part of it: a scan that stacks its outputs takes time quadratic in its
length (800 steps of 4096 floats: 1.4 s, here 6 ms). Behind a barrier it does not know that the buffer is the loop's, and writes into it.
That is right if the carry is the buffer's only user: the loop starts with a copy, and each step ends with the result of an update that
has no other user.
"""

from __future__ import annotations

from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Operation, Value
from plugjax_iree.workarounds.copies import (
    CLONE,
    UNKNOWN,
    UPDATES,
    VIEWS,
    copied,
    is_copy,
    opaque,
)
from plugjax_iree.workarounds.switch import is_on

_WRITES = (CLONE, *UPDATES)


def update_in_place(ctx: EqnContext, loop: Operation) -> None:
    """Let a loop write into the buffers it carries, where that is right."""
    if not is_on("copied_carries"):
        return
    body = loop.regions[1].blocks[0]
    end = body.operations[len(body.operations) - 1]
    for i, argument in enumerate(body.arguments):
        if _is_written(argument, body) and _is_own(end.operands[i], body):
            with mlir.at_start(body):
                own = opaque(argument)
            argument.replace_all_uses_except(own, own.owner.operation)
            with mlir.before(loop):
                loop.operands[i] = opaque(copied(ctx, loop.operands[i]))
            with mlir.before(end):
                end.operands[i] = opaque(end.operands[i])


def _is_written(x: Value, body: mlir.Block) -> bool:
    """Whether a part of the value is updated, in a block itself."""
    for use in x.uses:
        operation = use.owner.operation
        if operation.block != body:
            continue
        if use.operand_number == 0 and operation.name in _WRITES:
            return True
        passed_on = operation.name in VIEWS if use.operand_number == 0 else is_copy(operation)
        if passed_on and _is_written(operation.results[0], body):
            return True
    return False


def _is_own(x: Value, body: mlir.Block) -> bool:
    """Whether a value is the result of an update in the block, and no other value that leaves the block may share its buffer."""
    operation = x.owner
    while getattr(operation, "name", None) in VIEWS:
        if len(list(x.uses)) > 1:
            return False
        x = operation.operands[0]
        operation = x.owner
    if getattr(operation, "name", None) not in UPDATES or operation.operation.block != body:
        return False
    shared = (*VIEWS, *UNKNOWN, "stablehlo.return", "stablehlo.select")
    return sum(use.owner.name in shared for use in x.uses) == 1
