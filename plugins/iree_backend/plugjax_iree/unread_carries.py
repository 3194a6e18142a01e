"""Carries that the body of a loop does not read: ``while_loop(lambda c: c[1] > eps, lambda c: (step(c[0]), error(c[0])), c)``.

Where IREE 3.13 moves something out of a loop, it makes a loop of it that tests at its end. What the body does not read it drops from what
goes into that loop, but not from what comes out, which it does not compile ("region branch point has 4 operands, but region successor needs 2
inputs", "failed to legalize unresolved source materialization"), or its process ends. So the body is made to choose between the new value and
the old one. Whether it reads a carry is known when all functions are inlined: it may hand it to one that does not. Loops that count have no
such form.
"""

from typing import Any

from plugjax_iree.loops import WHILE, arguments_and_results
from plugjax_iree.mlir import (
    Mlir,
    blocks,
    borrowed,
    choose,
    in_block,
    maker,
    name_of,
    operands,
    readers,
    walk,
)


def read_in_body(invocation: Any) -> int:
    """Mends a StableHLO program that an invocation has parsed and inlined; returns how many choices it took.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), before its own phases.
    """
    with borrowed(invocation) as (mlir, module):
        loops = [loop for loop in walk(mlir, module) if name_of(mlir, loop) == WHILE]
        return sum(_mend(mlir, loop) for loop in loops if not _counts(mlir, loop))


def _mend(mlir: Mlir, loop: int) -> int:
    condition, body = blocks(mlir, loop)
    *_, end = in_block(mlir, body)
    found = [
        (i, carry, given)
        for i, (carry, given) in enumerate(arguments_and_results(mlir, loop))
        if not readers(mlir, carry)
        and (readers(mlir, mlir.argument(condition, i)) or readers(mlir, mlir.result(loop, i)))
    ]
    for i, carry, given in found:
        mlir.set_operand(end, i, choose(mlir, loop, end, given, carry))
    return len(found)


def _counts(mlir: Mlir, loop: int) -> bool:
    """Whether a loop compares a carry with something, and adds something to it; behind barriers IREE does not see that either."""
    condition, _ = blocks(mlir, loop)
    *_, end = in_block(mlir, condition)
    test = maker(mlir, mlir.operand(end, 0))
    if test is None or name_of(mlir, test) != b"stablehlo.compare":
        return False
    for i, (carry, given) in enumerate(arguments_and_results(mlir, loop)):
        if mlir.argument(condition, i) == mlir.operand(test, 0):
            step = maker(mlir, given)
            return (
                step is not None
                and name_of(mlir, step) == b"stablehlo.add"
                and carry in operands(mlir, step)
            )
    return False
