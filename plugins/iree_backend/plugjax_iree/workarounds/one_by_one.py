"""Programs with less fusion, or none: the last resort for those that IREE refuses.

IREE 3.13 refuses some of its own fusions ("LLVM Translation failed", "invalid accumulator/result vector shape"). Mostly it names an
operation, which is compiled alone first. With a barrier after each operation nothing is fused: slow, but right.
"""

from collections.abc import Collection

from plugjax_iree.mlir import (
    PROGRAMS,
    Mlir,
    defining_op,
    in_all,
    insert_barrier,
    insert_operand_barrier,
    is_copy,
    line_of,
    name_of,
    operands,
    walk,
)

# Behind a barrier the compiler would not see that these are constants, copies or barriers.
_LEFT = (b"stablehlo.constant", b"stablehlo.optimization_barrier", b"flow.tensor.clone")


def apply(mlir: Mlir, module: int, lines: Collection[int] = ()) -> int:
    """Insert a barrier behind each operation; if lines are given, before and behind the operations that those lines belong to. Returns the number of barriers."""
    count = 0
    for operation in list(walk(mlir, module)):
        name = name_of(mlir, operation)
        if not name.startswith((b"stablehlo.", b"chlo.")) or name in (*PROGRAMS, *_LEFT):
            continue
        if lines:
            within = (operation, *in_all(mlir, operation))
            if not any(line_of(mlir, each) in lines for each in within):
                continue
            count += _open(mlir, operation)
        for i in range(mlir.result_count(operation)):
            insert_barrier(mlir, operation, mlir.result(operation, i))
            count += 1
    return count


def _open(mlir: Mlir, operation: int) -> int:
    """Insert a barrier before each operand that is no constant; returns their number."""
    if is_copy(mlir, operation):
        # Its operands are a value and that value behind a barrier; two equal barriers would become one, and the copy none.
        return 0
    count = 0
    for i, value in enumerate(operands(mlir, operation)):
        origin = defining_op(mlir, value)
        if origin is None or name_of(mlir, origin) not in _LEFT:
            insert_operand_barrier(mlir, operation, i)
            count += 1
    return count
