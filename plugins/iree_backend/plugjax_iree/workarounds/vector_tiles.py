"""Tiles that are whole vectors, for matrices and images whose sizes have no fitting divisor: ``x @ w`` of 127 columns.

For processors with AVX-512 IREE 3.13 wants tiles that divide an array, which those of a prime size are not but for single numbers. So tiles are
vectors, and what is left at the borders has code of its own, as IREE does it for processors without.
"""

from collections.abc import Sequence

from plugjax_iree.mlir import Mlir, name_of, operands, shape_of
from plugjax_iree.mlir.generics import maps_of
from plugjax_iree.mlir.tiles import (
    PRODUCTS,
    SHARE,
    TERMS,
    TILE,
    Tiles,
    is_transposed,
    lanes_of,
    peel_borders,
    pipeline_of,
    set_tiles,
    tiled,
    tiled_functions,
)

_WINDOWS = "ConvTileAndDecomposeExpert"
_PASSES = ("DoubleTilingExpert", _WINDOWS)
_ROWS = 8
# Of columns that IREE gives to one worker each.
_VECTORS = 4
# Of an image: elements of a row, and channels that are added.
_COLUMNS, _CHANNELS = 9, 16
# Of a product whose second factor is transposed: a whole vector of terms would take half as long again to compile, and up to twice as long.
_TERMS_OF_TRANSPOSED = 4


def apply(mlir: Mlir, module: int) -> int:
    """Choose such tiles; returns in how many kernels."""
    return sum(_is_retiled(mlir, *found) for found in tiled_functions(mlir, module))


def _is_retiled(mlir: Mlir, function: int, vector: int) -> bool:
    passes = pipeline_of(mlir, function)
    found = tiled(mlir, function)
    roots = [operation for operation, levels in found.items() if SHARE in levels]
    if passes not in _PASSES or len(roots) != 1:
        return False
    (root,) = roots
    levels = found.pop(root)
    tile = levels.get(TILE, [])
    if TERMS not in levels or any(
        _nonzero(each.get(TILE, [])) != _nonzero(tile) for each in found.values()
    ):
        return False
    if name_of(mlir, root) in PRODUCTS:
        chosen = _of_a_product(mlir, root, levels, vector)
    else:
        chosen = _of_another(mlir, root, levels, vector, is_image=passes == _WINDOWS)
    if chosen is None:
        return False
    set_tiles(mlir, root, {**levels, **chosen})
    for other, each in found.items():
        sizes = iter(_nonzero(chosen[TILE]))
        own = [next(sizes) if size else 0 for size in each[TILE]]
        set_tiles(mlir, other, {**each, TILE: own})
    peel_borders(mlir, function)
    return True


def _of_a_product(mlir: Mlir, root: int, levels: Tiles, vector: int) -> Tiles | None:
    *batch, rows, columns, _ = levels[TILE]
    lanes = lanes_of(mlir, root, vector)
    *_, height, width = shape_of(mlir, operands(mlir, root)[-1])
    # A size that is not known is negative.
    if not lanes or height < 0 or width < lanes:
        return None
    if columns % lanes == 0 and (rows % _ROWS == 0 or height < _ROWS):
        return None
    *whole, terms = levels[TERMS]
    terms = _TERMS_OF_TRANSPOSED if is_transposed(mlir, root) else terms
    return {TILE: [*batch, _ROWS, lanes, 0], TERMS: [*whole, terms]}


def _of_another(
    mlir: Mlir, root: int, levels: Tiles, vector: int, *, is_image: bool
) -> Tiles | None:
    lanes = lanes_of(mlir, root, vector)
    *reads, loops = maps_of(mlir, root) or [()]
    if not lanes or not loops or -1 in loops:
        return None
    sizes = shape_of(mlir, operands(mlir, root)[-1])
    tile, terms = list(levels[TILE]), list(levels[TERMS])
    added = _size(mlir, root, reads, len(terms) - 1)
    if min(*sizes, added) < 0:
        return None
    last = loops[-1]
    if any(-1 in axes for axes in reads) and sizes[-1] <= tile[last] and len(loops) > 1:
        # Windows of few features: the sums of one element would wait for one another.
        tile[loops[-2]] = max(tile[loops[-2]], _columns(sizes[-2]))
        return {TILE: tile} if tile != levels[TILE] else None
    side_by_side = any(axes[-1] == last for axes in reads if len(axes) > 1)
    if not side_by_side or sizes[-1] < lanes or not 0 < tile[last] < lanes // 2:
        # A vector of terms that does not divide a row is masked in each step.
        return {TILE: tile} if terms[-1] > 1 and added % terms[-1] else None
    tile[last] = lanes
    share = list(levels[SHARE])
    if 0 < share[last] < lanes:
        share[last] = min(sizes[-1], _VECTORS * lanes)
    if is_image and len(loops) > 1:
        tile[loops[-2]] = _columns(sizes[-2])
        if added <= _CHANNELS:
            terms[-1] = max(terms[-1], added)
    return {SHARE: share, TILE: tile, TERMS: terms}


def _nonzero(sizes: Sequence[int]) -> list[int]:
    return [size for size in sizes if size]


def _columns(width: int) -> int:
    """How many elements of a row of an image are computed at a time: a divisor of its length if there is one."""
    divisors = (n for n in range(_COLUMNS, 1, -1) if width % n == 0)
    return next(divisors, min(width, _ROWS))


def _size(mlir: Mlir, root: int, reads: Sequence[Sequence[int]], loop: int) -> int:
    """How many steps a loop has."""
    arrays = operands(mlir, root)
    found = [
        shape_of(mlir, array)[axes.index(loop)]
        for array, axes in zip(arrays[:-1], reads, strict=True)
        if loop in axes
    ]
    return found[0] if found else 0
