"""Loops: their carries, and which values of their bodies differ from step to step."""

from plugjax_iree.mlir.interface import Mlir
from plugjax_iree.mlir.reading import blocks, in_block, name_of, operands, users
from plugjax_iree.mlir.rewriting import choose

WHILE = b"stablehlo.while"
BRANCHES = (b"stablehlo.case", b"stablehlo.if")


def terminator(mlir: Mlir, block: int) -> int:
    """The operation that ends a block."""
    found = mlir.terminator(block)
    assert found is not None
    return found


def arguments_and_results(mlir: Mlir, loop: int) -> list[tuple[int, int]]:
    """For each carry of a ``stablehlo.while``: the argument of its body, and its new value."""
    _, body = blocks(mlir, loop)
    arguments = [mlir.argument(body, i) for i in range(mlir.argument_count(body))]
    return list(zip(arguments, operands(mlir, terminator(mlir, body)), strict=True))


def is_read_after(mlir: Mlir, loop: int, index: int) -> bool:
    """Whether a carry of a ``stablehlo.while`` is read by its condition, or after it."""
    condition, _ = blocks(mlir, loop)
    return bool(
        users(mlir, mlir.argument(condition, index)) or users(mlir, mlir.result(loop, index))
    )


def keep_carry(mlir: Mlir, loop: int, index: int) -> None:
    """Let the body choose between a carry's new and old value by a condition that the compiler cannot decide; the new one is always chosen."""
    _, body = blocks(mlir, loop)
    end = terminator(mlir, body)
    chosen = choose(mlir, loop, end, mlir.operand(end, index), mlir.argument(body, index))
    mlir.set_operand(end, index, chosen)


def varying(mlir: Mlir, loop: int) -> set[int]:
    """The values of the body of a ``stablehlo.while`` that depend on a carry that changes; those of loops in it are left out."""
    *_, body = blocks(mlir, loop)
    found = {carry for carry, given in arguments_and_results(mlir, loop) if carry != given}
    _add_dependent(mlir, body, found)
    return found


def _add_dependent(mlir: Mlir, block: int, found: set[int]) -> None:
    for step in in_block(mlir, block):
        if depends(mlir, step, found):
            found.update(mlir.result(step, i) for i in range(mlir.result_count(step)))
        if name_of(mlir, step) in BRANCHES:
            for branch in blocks(mlir, step):
                _add_dependent(mlir, branch, found)


def depends(mlir: Mlir, operation: int, values: set[int]) -> bool:
    """Whether an operation, or one in its regions, reads one of the values; a call may."""
    if name_of(mlir, operation) == b"func.call":
        return True
    if any(value in values for value in operands(mlir, operation)):
        return True
    return any(
        depends(mlir, inner, values)
        for block in blocks(mlir, operation)
        for inner in in_block(mlir, block)
    )
