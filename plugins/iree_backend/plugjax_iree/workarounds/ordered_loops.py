"""Loops that IREE takes for free of effects: ``a = exp(x); fori_loop(0, 5, body, sin(a)) * a``.

IREE 3.13 puts a kernel into the partition of one of its users, although a loop lies between the kernel and other operations of that partition, and
refuses the program: "circular dependency: input operation uses partition output". Only operations with effects keep kernels before them from
joining partitions behind them. So a loop without any has a barrier behind it. A ``scf.while`` has one: its condition is read back.
"""

from plugjax_iree.mlir import UTIL_BARRIER, Mlir, in_all, insert_barrier, name_of, operations, users
from plugjax_iree.mlir.kernels import CODE

_LOOP = b"scf.for"


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    loops = [
        operation
        for function in operations(mlir, module)
        if name_of(mlir, function) != CODE
        for operation in in_all(mlir, function)
        if name_of(mlir, operation) == _LOOP
    ]
    # From within: the barrier behind an inner loop is an effect of the outer one.
    return sum(_close(mlir, loop) for loop in reversed(loops))


def _close(mlir: Mlir, loop: int) -> int:
    """Insert a barrier behind a loop without effects; returns the number of barriers."""
    if any(name_of(mlir, inner) == UTIL_BARRIER for inner in in_all(mlir, loop)):
        return 0
    results = (mlir.result(loop, i) for i in range(mlir.result_count(loop)))
    read = next((value for value in results if users(mlir, value)), None)
    if read is None:
        return 0
    insert_barrier(mlir, loop, read, UTIL_BARRIER)
    return 1
