"""Products with a vector that is a slice: ``x @ w[:, 0]``, or ``lax.scan`` over columns.

The library of kernels for products of IREE 3.13, which integers of 8 bits use (`compile/tuning.py`), reads the elements of such a vector as if
they lay side by side: it takes the first row of ``w`` for its first column. Behind a barrier the slice is a buffer of its own.
"""

import re

from plugjax_iree.mlir import MOVES, Mlir, insert_operand_barrier, name_of, printed, size_of
from plugjax_iree.mlir.products import DOT, product_operands, sources

_SLICES = (b"stablehlo.slice", b"stablehlo.dynamic_slice")
# IREE looks through them.
_VIEWS = (*MOVES, b"stablehlo.convert")
_SIDES = ("lhs", "rhs")


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers behind the slices; returns their number."""
    found = [
        (product, i)
        for product, i in product_operands(mlir, module, (DOT,))
        if _is_slice(mlir, mlir.operand(product, i)) and _is_vector(mlir, product, i)
    ]
    for product, i in found:
        insert_operand_barrier(mlir, product, i)
    return len(found)


def _is_slice(mlir: Mlir, value: int) -> bool:
    return any(name_of(mlir, operation) in _SLICES for operation in sources(mlir, value, _VIEWS))


def _is_vector(mlir: Mlir, product: int, index: int) -> bool:
    """Whether an operand has one element for each place along the axes that are batched and contracted."""
    text = printed(mlir, product, b"dot_dimension_numbers")
    value = mlir.operand(product, index)
    kind = mlir.type_of(value)
    size = 1
    for axes in re.findall(rf"{_SIDES[index]}_\w+ = \[([\d, ]*)\]", text):
        for axis in axes.split(",") if axes else ():
            size *= mlir.size(kind, int(axis))
    return size == size_of(mlir, value)
