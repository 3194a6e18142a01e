"""Programs with less fusion, or none: the resort for those that IREE refuses.

IREE 3.13 refuses some of its own fusions ("LLVM Translation failed", "invalid accumulator/result vector shape"). It names an operation, which is compiled alone first; with
a barrier after each operation nothing is fused: slow, but right.
"""

from collections.abc import Collection

from plugjax_iree.mlir import (
    PROGRAMS,
    Mlir,
    defining_op,
    in_all,
    insert_barrier,
    insert_operand_barrier,
    line_of,
    name_of,
    operands,
    walk,
)

# Behind a barrier the compiler would not see that these are constants, copies or barriers.
_LEFT = (b"stablehlo.constant", b"stablehlo.optimization_barrier", b"flow.tensor.clone")


def apply(mlir: Mlir, module: int) -> int:
    """Insert a barrier behind each operation; returns their number."""
    return sum(_close(mlir, operation) for operation in _fusible(mlir, module))


def separate(mlir: Mlir, module: int, lines: Collection[int]) -> int:
    """Insert barriers before and behind the operations that some lines belong to; returns the number of operations."""
    found = [
        operation
        for operation in _fusible(mlir, module)
        if any(line_of(mlir, each) in lines for each in (operation, *in_all(mlir, operation)))
    ]
    for operation in found:
        for i, value in enumerate(operands(mlir, operation)):
            origin = defining_op(mlir, value)
            if origin is None or name_of(mlir, origin) not in _LEFT:
                insert_operand_barrier(mlir, operation, i)
        _close(mlir, operation)
    return len(found)


def _fusible(mlir: Mlir, module: int) -> list[int]:
    return [
        operation
        for operation in walk(mlir, module)
        if (name := name_of(mlir, operation)).startswith((b"stablehlo.", b"chlo."))
        and name not in (*PROGRAMS, *_LEFT)
    ]


def _close(mlir: Mlir, operation: int) -> int:
    """Insert a barrier behind each result of an operation; returns their number."""
    count = mlir.result_count(operation)
    for i in range(count):
        insert_barrier(mlir, operation, mlir.result(operation, i))
    return count
