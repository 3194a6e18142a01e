"""Carries that the body of a loop does not read: ``while_loop(lambda c: c[1] > eps, lambda c: (step(c[0]), error(c[0])), c)``.

Where IREE 3.13 moves something out of a loop, it makes a loop of it that tests at its end. What the body does not read it drops from what
goes into that loop, but not from what comes out, which it does not compile ("region branch point has 4 operands, but region successor needs 2
inputs", "failed to legalize unresolved source materialization"), or its process ends. So the body is made to choose between the new value and
the old one. Whether it reads a carry is known when all functions are inlined: it may hand it to one that does not. Loops that count have no
such form.
"""

from plugjax_iree.mlir import Mlir, blocks, defining_op, name_of, operands, users, walk
from plugjax_iree.mlir.loops import WHILE, arguments_and_results, keep_carry, terminator


def apply(mlir: Mlir, module: int) -> int:
    """Insert choices; returns their number."""
    loops = [loop for loop in walk(mlir, module) if name_of(mlir, loop) == WHILE]
    found = [(loop, i) for loop in loops if not _counts(mlir, loop) for i in _unread(mlir, loop)]
    for loop, index in found:
        keep_carry(mlir, loop, index)
    return len(found)


def _unread(mlir: Mlir, loop: int) -> list[int]:
    condition, _ = blocks(mlir, loop)
    return [
        i
        for i, (carry, _) in enumerate(arguments_and_results(mlir, loop))
        if not users(mlir, carry)
        and (users(mlir, mlir.argument(condition, i)) or users(mlir, mlir.result(loop, i)))
    ]


def _counts(mlir: Mlir, loop: int) -> bool:
    """Whether a loop compares a carry with something, and adds something to it; behind barriers IREE does not see that either."""
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
