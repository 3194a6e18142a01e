"""Loops that IREE takes for free of effects: ``a = exp(x); fori_loop(0, 5, body, sin(a)) * a``.

IREE 3.13 puts a kernel into the partition of one of its users, although a loop lies between the kernel and other operations of that partition, and
refuses the program: "circular dependency: input operation uses partition output". Only operations with effects keep kernels before them from
joining partitions behind them. So a loop or branch without any has a barrier behind it.
"""

from plugjax_iree.mlir import (
    UTIL_BARRIER,
    Mlir,
    blocks,
    in_block,
    insert_barrier,
    name_of,
    operations,
    users,
)
from plugjax_iree.mlir.kernels import CODE
from plugjax_iree.mlir.loops import STRUCTURED


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    return sum(
        _separate(mlir, block)
        for function in operations(mlir, module)
        if name_of(mlir, function) != CODE
        for block in blocks(mlir, function)
    )


def _separate(mlir: Mlir, block: int) -> int:
    count = 0
    for operation in list(in_block(mlir, block)):
        if name_of(mlir, operation) not in STRUCTURED:
            continue
        inner = sum(_separate(mlir, inside) for inside in blocks(mlir, operation))
        count += inner
        if inner or _has_barrier(mlir, operation):
            continue
        results = (mlir.result(operation, i) for i in range(mlir.result_count(operation)))
        read = next((value for value in results if users(mlir, value)), None)
        if read is not None:
            insert_barrier(mlir, operation, read, UTIL_BARRIER)
            count += 1
    return count


def _has_barrier(mlir: Mlir, operation: int) -> bool:
    return any(
        name_of(mlir, inner) == UTIL_BARRIER or _has_barrier(mlir, inner)
        for inner in operations(mlir, operation)
    )
