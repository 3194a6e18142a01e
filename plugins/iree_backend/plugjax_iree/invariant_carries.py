"""Loops that carry what each step computes anew and alike: ``scan(lambda c, _: (sin(a), None), a, xs)``.

IREE 3.13 moves such a computation out of the loop, and its last step then waits for nothing. The release of the results waits for nothing
either, and the compiler's process ends (a segmentation fault in ``BatchAllocaOps`` of the stream dialect). So the step is made to choose
between the new value and the old one, which it has to wait for. Two carries that get one value are told apart in the same way: of two loops
that IREE makes of one, it takes them for one carry in the first only.
"""

from typing import Any

from plugjax_iree.mlir import (
    Mlir,
    blocks,
    borrowed,
    choose,
    in_block,
    name_of,
    operands,
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
            if name_of(mlir, loop) == b"stablehlo.while"
            for place in _invariant(mlir, loop)
        ]
        for loop, end, index, carried in found:
            chosen = choose(mlir, loop, end, mlir.operand(end, index), carried)
            mlir.set_operand(end, index, chosen)
        return len(found)


def _invariant(mlir: Mlir, loop: int) -> list[tuple[int, int, int, int]]:
    """The loop, the operation that ends its body, each position at which it gives on what does not depend on the step, and the carry there."""
    *_, body = blocks(mlir, loop)
    *steps, end = in_block(mlir, body)
    arguments = [mlir.argument(body, i) for i in range(mlir.argument_count(body))]
    given = operands(mlir, end)
    varying = {x for x, y in zip(arguments, given, strict=True) if x != y}
    for step in steps:
        if _depends(mlir, step, varying):
            varying.update(mlir.result(step, i) for i in range(mlir.result_count(step)))
    return [
        (loop, end, i, argument)
        for i, (argument, value) in enumerate(zip(arguments, given, strict=True))
        if value != argument and (value not in varying or value in given[:i])
    ]


def _depends(mlir: Mlir, operation: int, varying: set[int]) -> bool:
    """Whether an operation, or one in its regions, reads what changes; what a call gives does."""
    if name_of(mlir, operation) == b"func.call":
        return True
    if any(value in varying for value in operands(mlir, operation)):
        return True
    return any(
        _depends(mlir, inner, varying)
        for block in blocks(mlir, operation)
        for inner in in_block(mlir, block)
    )
