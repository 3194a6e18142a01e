"""Transposed results of an operation that has several: ``vmap(loop_of_two_carries, out_axes=1)``.

IREE 3.13 moves the transposition into the operation, keeps one of its results, and yields them all: "'linalg.yield' op expected number of yield values (2) to match the number of
inits / outs operands of the enclosing LinalgOp (1)". So such results are transposed behind a barrier.
"""

from plugjax_iree.mlir import (
    UTIL_BARRIER,
    Mlir,
    defining_op,
    insert_operand_barrier,
    named,
    operands,
    users,
)
from plugjax_iree.mlir.generics import GENERIC, PARALLEL, loops_of, maps_of


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    functions = list(named(mlir, module, GENERIC))
    several = [o for o in functions if _has_several(mlir, o)]
    if not several:
        return 0
    transposing = {o for o in functions if _transposes(mlir, o)}
    # What is behind a transposition, and what is before one.
    behind, before = set(transposing), set(transposing)
    for operation in functions:
        if any(defining_op(mlir, value) in behind for value in operands(mlir, operation)):
            behind.add(operation)
    for operation in reversed(functions):
        if any(reader in before for reader in _readers(mlir, operation)):
            before.add(operation)
    found = {
        (reader, i)
        for operation in several
        for reader in _readers(mlir, operation)
        if reader in before
        for i, value in enumerate(operands(mlir, reader))
        if defining_op(mlir, value) == operation
    } | {
        (operation, i)
        for operation in several
        for i, value in enumerate(operands(mlir, operation))
        if defining_op(mlir, value) in behind
    }
    for operation, i in sorted(found):
        insert_operand_barrier(mlir, operation, i, UTIL_BARRIER)
    return len(found)


def _has_several(mlir: Mlir, operation: int) -> bool:
    """Whether an elementwise operation has several results."""
    loops = loops_of(mlir, operation)
    return mlir.result_count(operation) > 1 and loops is not None and set(loops.kinds) == {PARALLEL}


def _transposes(mlir: Mlir, operation: int) -> bool:
    """Whether an operation gives a value in another order of axes than it reads one."""
    return any(list(axes) != sorted(axes) for axes in maps_of(mlir, operation))


def _readers(mlir: Mlir, operation: int) -> list[int]:
    """The operations that read a result of an operation."""
    count = mlir.result_count(operation)
    return [reader for k in range(count) for reader in users(mlir, mlir.result(operation, k))]
