"""Reversals of slices with steps: ``x[2::-2]``.

IREE 3.13 fuses the two and, for some sizes, refuses the fusion (3 elements with step 2: "LLVM Translation failed"). A barrier separates them.
"""

from plugjax_iree.mlir import Mlir, defining_op, insert_operand_barrier, name_of, walk

_REVERSE = b"stablehlo.reverse"
_SLICE = b"stablehlo.slice"


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers before reversals of slices; returns their number."""
    found = [
        operation
        for operation in walk(mlir, module)
        if name_of(mlir, operation) == _REVERSE and _is_slice(mlir, mlir.operand(operation, 0))
    ]
    for operation in found:
        insert_operand_barrier(mlir, operation, 0)
    return len(found)


def _is_slice(mlir: Mlir, value: int) -> bool:
    source = defining_op(mlir, value)
    return source is not None and name_of(mlir, source) == _SLICE
