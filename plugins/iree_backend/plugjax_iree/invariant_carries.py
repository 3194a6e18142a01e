"""Loops that carry what each step computes anew and alike: ``scan(lambda c, _: (sin(a), None), a, xs)``.

IREE 3.13 moves such a computation out of the loop, and its last step then waits for nothing. The release of the results waits for nothing
either, and the compiler's process ends (a segmentation fault in ``BatchAllocaOps`` of the stream dialect). So the step is made to choose
between the new value and the old one, which it has to wait for. Two carries that get one value are told apart in the same way: of two loops
that IREE makes of one, it takes them for one carry in the first only. And a loop in a loop or a branch, whose condition reads what a branch of
its own gives on, would have fewer carries before its body than in it ("'scf.while' op along control flow edge").
"""

from typing import Any

from plugjax_iree.loops import BRANCHES, WHILE, arguments_and_results, varying
from plugjax_iree.mlir import (
    BARRIER,
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
        found += [place for place in _decisive(mlir, module) if place not in found]
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


def _decisive(mlir: Mlir, module: int) -> list[tuple[int, int, int, int]]:
    """Of loops in loops and branches: such places, where a branch gives what the condition reads."""
    inner = {
        loop: None
        for outer in walk(mlir, module)
        if name_of(mlir, outer) in (WHILE, *BRANCHES)
        for loop in walk(mlir, outer)
        if name_of(mlir, loop) == WHILE
    }
    found = []
    for loop in inner:
        condition, body = blocks(mlir, loop)
        *_, end = in_block(mlir, body)
        for i, value in enumerate(operands(mlir, end)):
            if readers(mlir, mlir.argument(condition, i)) and _is_of_a_branch(mlir, value):
                found.append((loop, end, i, mlir.argument(body, i)))
    return found


def _is_of_a_branch(mlir: Mlir, value: int) -> bool:
    operation = maker(mlir, value)
    while operation is not None and name_of(mlir, operation) == BARRIER:
        operation = maker(mlir, mlir.operand(operation, 0))
    return operation is not None and name_of(mlir, operation) in BRANCHES
