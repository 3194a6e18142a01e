"""Carries that the body of a loop does not read: ``while_loop(lambda c: c[1] > eps, lambda c: (step(c[0]), error(c[0])), c)``.

When IREE 3.13 hoists an operation out of a loop, it rotates the loop, so that the test is at its end. It then drops carries that the body does
not read from the operands of the new loop, but not from its results, and refuses that loop ("region branch point has 4 operands, but region
successor needs 2 inputs", "failed to legalize unresolved source materialization") or crashes. So the body is made to choose between the new
value and the old one, and reads the carry. This runs after inlining, because a called function may ignore its argument. Loops with a counter
are not rotated. What is but the first value of a carry of an inner loop that is not read either is not read: IREE knows that loops run.
"""

from plugjax_iree.mlir import Mlir, blocks, defining_op, name_of, operands, users, walk
from plugjax_iree.mlir.loops import (
    WHILE,
    arguments_and_results,
    is_read_after,
    keep_carry,
    terminator,
)


def apply(mlir: Mlir, module: int) -> int:
    """Insert choices; returns their number."""
    loops = [loop for loop in walk(mlir, module) if name_of(mlir, loop) == WHILE]
    found = [(loop, i) for loop in loops if not _counts(mlir, loop) for i in _unread(mlir, loop)]
    for loop, index in found:
        keep_carry(mlir, loop, index)
    return len(found)


def _unread(mlir: Mlir, loop: int) -> list[int]:
    return [
        i
        for i, (carry, _) in enumerate(arguments_and_results(mlir, loop))
        if not _is_read(mlir, carry) and is_read_after(mlir, loop, i)
    ]


def _is_read(mlir: Mlir, value: int) -> bool:
    return any(
        name_of(mlir, user) != WHILE
        or any(
            _is_read(mlir, mlir.argument(block, i))
            for i, given in enumerate(operands(mlir, user))
            for block in blocks(mlir, user)
            if given == value
        )
        for user in users(mlir, value)
    )


def _counts(mlir: Mlir, loop: int) -> bool:
    """Whether a loop has a counter: a carry that its condition compares and its body adds to. As for IREE, a barrier hides it."""
    condition, _ = blocks(mlir, loop)
    test = defining_op(mlir, mlir.operand(terminator(mlir, condition), 0))
    if test is None or name_of(mlir, test) != b"stablehlo.compare":
        return False
    for i, (carry, given) in enumerate(arguments_and_results(mlir, loop)):
        if mlir.argument(condition, i) == mlir.operand(test, 0):
            step = defining_op(mlir, given)
            return (
                step is not None
                and name_of(mlir, step) == b"stablehlo.add"
                and carry in operands(mlir, step)
            )
    return False
