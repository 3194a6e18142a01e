"""Loops that carry what each step computes anew and alike: ``scan(lambda c, _: (sin(a), None), a, xs)``.

IREE 3.13 moves such a computation out of the loop, and its last step then waits for nothing. The release of the results waits for nothing
either, and the compiler's process ends (a segmentation fault in ``BatchAllocaOps`` of the stream dialect). So the step is made to choose
between the new value and the old one, which it has to wait for. Two carries that get one value are told apart in the same way: of two loops
that IREE makes of one, it takes them for one carry in the first only.
"""

from typing import Any

from plugjax_iree.loops import WHILE, arguments_and_results, varying
from plugjax_iree.mlir import Mlir, blocks, borrowed, choose, in_block, name_of, walk


def keep_in_loop(invocation: Any) -> int:
    """Repairs a StableHLO program that an invocation has parsed and inlined; returns how many choices it took.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), before its own phases.
    """
    with borrowed(invocation) as (mlir, module):
        found = [
            place
            for loop in walk(mlir, module)
            if name_of(mlir, loop) == WHILE
            for place in _invariant(mlir, loop)
        ]
        for loop, end, index, carried in found:
            chosen = choose(mlir, loop, end, mlir.operand(end, index), carried)
            mlir.set_operand(end, index, chosen)
        return len(found)


def _invariant(mlir: Mlir, loop: int) -> list[tuple[int, int, int, int]]:
    """The loop, the operation that ends its body, each position at which it gives on what does not depend on the step, and the carry there."""
    *_, body = blocks(mlir, loop)
    *_, end = in_block(mlir, body)
    carries = arguments_and_results(mlir, loop)
    given = [value for _, value in carries]
    changing = varying(mlir, loop)
    return [
        (loop, end, i, argument)
        for i, (argument, value) in enumerate(carries)
        if value != argument and (value not in changing or value in given[:i])
    ]
