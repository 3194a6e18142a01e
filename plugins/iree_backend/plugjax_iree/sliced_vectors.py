"""Products with a vector that is a slice: ``x @ w[:, 0]``, or ``lax.scan`` over columns.

With data tiling IREE 3.13 reads the elements of such a vector as if they lay side by side: it takes the first row of ``w`` for its first
column. Behind a barrier the slice is a buffer of its own.
"""

import re
from typing import Any

from plugjax_iree.mlir import (
    MOVES,
    Mlir,
    bar_operand,
    borrowed,
    maker,
    name_of,
    printed,
    size_of,
    walk,
)

_PRODUCT = b"stablehlo.dot_general"
_SLICES = (b"stablehlo.slice", b"stablehlo.dynamic_slice")
# IREE looks through them.
_VIEWS = (*MOVES, b"stablehlo.convert")
_SIDES = ("lhs", "rhs")


def keep_apart(invocation: Any) -> int:
    """Repairs a StableHLO program that an invocation has parsed and inlined; returns how many barriers it took.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), before its own phases.
    """
    with borrowed(invocation) as (mlir, module):
        found = [
            (product, i)
            for product in walk(mlir, module)
            if name_of(mlir, product) == _PRODUCT
            for i in range(2)
            if _is_slice(mlir, mlir.operand(product, i)) and _is_vector(mlir, product, i)
        ]
        for product, i in found:
            bar_operand(mlir, product, i)
        return len(found)


def _is_slice(mlir: Mlir, value: int) -> bool:
    operation = maker(mlir, value)
    while operation is not None:
        name = name_of(mlir, operation)
        if name in _SLICES:
            return True
        if name not in _VIEWS:
            return False
        operation = maker(mlir, mlir.operand(operation, 0))
    return False


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
