"""Carries whose new value is loop-invariant: ``scan(lambda c, _: (sin(a), None), a, xs)``.

IREE 3.13 hoists such a computation out of the loop, and the last step then waits for no operation. Nor does the release of the results, and
the compiler crashes (a segmentation fault in ``BatchAllocaOps`` of the stream dialect). So the step is made to choose between the new value
and the old one, and waits for the choice.

Two more kinds of carries get such a choice. If two carries get one value, IREE splits the loop in two and merges the carries in the first
only. If a loop in a loop or a branch has a condition that reads the result of a branch in its body, the loop would have fewer carries before
its body than in it ("'scf.while' op along control flow edge").
"""

from plugjax_iree.mlir import (
    BARRIER,
    Mlir,
    blocks,
    defining_op,
    name_of,
    operands,
    users,
    walk,
)
from plugjax_iree.mlir.loops import (
    BRANCHES,
    WHILE,
    arguments_and_results,
    is_read_after,
    keep_carry,
    terminator,
    varying,
)


def apply(mlir: Mlir, module: int) -> int:
    """Insert choices; returns their number."""
    found = [
        place
        for loop in walk(mlir, module)
        if name_of(mlir, loop) == WHILE
        for place in _invariant(mlir, loop)
    ]
    found += [place for place in _decisive(mlir, module) if place not in found]
    for loop, index in found:
        keep_carry(mlir, loop, index)
    return len(found)


def _invariant(mlir: Mlir, loop: int) -> list[tuple[int, int]]:
    """The loop and each carry of it whose new value does not depend on the step."""
    carries = arguments_and_results(mlir, loop)
    given = [value for _, value in carries]
    changing = varying(mlir, loop)
    return [
        (loop, i)
        for i, (argument, value) in enumerate(carries)
        if value != argument
        and (value not in changing or value in given[:i])
        and (users(mlir, argument) or is_read_after(mlir, loop, i))
    ]


def _decisive(mlir: Mlir, module: int) -> list[tuple[int, int]]:
    """Loops in loops and branches, and each carry that the condition reads and a branch gives."""
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
        for i, value in enumerate(operands(mlir, terminator(mlir, body))):
            if users(mlir, mlir.argument(condition, i)) and _is_of_a_branch(mlir, value):
                found.append((loop, i))
    return found


def _is_of_a_branch(mlir: Mlir, value: int) -> bool:
    operation = defining_op(mlir, value)
    while operation is not None and name_of(mlir, operation) == BARRIER:
        operation = defining_op(mlir, mlir.operand(operation, 0))
    return operation is not None and name_of(mlir, operation) in BRANCHES
