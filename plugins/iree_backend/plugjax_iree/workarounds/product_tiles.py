"""Products of matrices: how many terms of their sums are added in a step.

IREE 3.13 unrolls as many as a vector has elements, which makes no product faster, and a training step of a transformer takes a sixth more time to compile. So
one term is added after the other, unless the second factor is transposed: its columns are read as vectors.
"""

from plugjax_iree.mlir import Mlir, name_of
from plugjax_iree.mlir.tiles import (
    PRODUCTS,
    TERMS,
    TILE,
    Tiles,
    is_transposed,
    lanes_of,
    set_tiles,
    tiled,
    tiled_functions,
)


def apply(mlir: Mlir, module: int) -> int:
    """Let products add term by term; returns their number."""
    products = [
        (operation, levels)
        for function, vector in tiled_functions(mlir, module)
        for operation, levels in tiled(mlir, function).items()
        if _may_add(mlir, operation, levels, vector)
    ]
    for operation, levels in products:
        set_tiles(mlir, operation, {**levels, TERMS: [*levels[TERMS][:-1], 1]})
    return len(products)


def _may_add(mlir: Mlir, operation: int, levels: Tiles, vector: int) -> bool:
    """Whether an operation is a product whose tiles are vectors, of a second factor that is not transposed."""
    if name_of(mlir, operation) not in PRODUCTS or not {TILE, TERMS} <= levels.keys():
        return False
    lanes = lanes_of(mlir, operation, vector)
    *_, columns, _ = levels[TILE]
    return bool(lanes) and columns % lanes == 0 and not is_transposed(mlir, operation)
