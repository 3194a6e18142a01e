"""Reversals of slices: ``x[2::-2]``, ``x[::-1, :1]``.

IREE 3.13 fuses the two and, for some sizes, refuses the fusion (3 elements with step 2, a column of unsigned numbers: "LLVM Translation failed"). A barrier
separates them.
"""

from plugjax_iree.mlir import Mlir, insert_operand_barrier, name_of, walk
from plugjax_iree.mlir.products import sources

_REVERSE = b"stablehlo.reverse"
_SLICES = (b"stablehlo.slice", b"stablehlo.dynamic_slice")
# Unsigned numbers are reversed as signed ones.
_VIEWS = (b"stablehlo.bitcast_convert", b"stablehlo.reshape")


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
    return any(name_of(mlir, source) in _SLICES for source in sources(mlir, value, _VIEWS))
