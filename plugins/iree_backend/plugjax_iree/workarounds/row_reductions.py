"""Reductions of rows: ``x.sum(-1)``, ``x.max(-1)``, ``(x * y).sum(-1)``.

IREE 3.13 reduces vectors of elements that lie side by side to one number in each step, which takes three times as long as it need. So elements
at a distance of `LANES` are reduced first, and the `LANES` numbers that are left next; both in the kernel that the reduction is in.

A product that is added is taken for a product of matrices thereby, and computed number by number. With a zero added it is not.
"""

from plugjax_iree.mlir import Mlir, defining_op, name_of, operands, shape_of
from plugjax_iree.mlir.generics import (
    FILL,
    GENERIC,
    PARALLEL,
    REDUCTION,
    Loops,
    Writer,
    loops_of,
)
from plugjax_iree.mlir.kernels import in_kernels, is_loaded
from plugjax_iree.mlir.reductions import SUMS, combiner_of, with_zero

LANES = 8
_SHORTEST = 4 * LANES
# Of rows that the lanes do not divide.
_SHORTEST_UNEVEN = 12 * LANES


def apply(mlir: Mlir, module: int) -> int:
    """Reduce rows in lanes; returns how many reductions do."""
    kernels = in_kernels(mlir, module, GENERIC)
    return sum(_reduce_in_lanes(mlir, operation) for found in kernels for operation in found)


def _reduce_in_lanes(mlir: Mlir, operation: int) -> bool:
    loops = loops_of(mlir, operation)
    row = loops and _row(mlir, operation, loops)
    combiner = combiner_of(mlir, operation)
    start = defining_op(mlir, operands(mlir, operation)[-1])
    if (
        loops is None
        or row is None
        or combiner is None
        or start is None
        or name_of(mlir, start) != FILL
    ):
        return False
    writer = Writer(mlir, operation)
    *arrays, into = operands(mlir, operation)
    order = [i for i, kind in enumerate(loops.kinds) if kind == PARALLEL]
    lanes = len(order)
    # The loops: those of the result, the lanes, those that are reduced.
    order += [i for i, kind in enumerate(loops.kinds) if kind == REDUCTION]
    places = {loop: i + (i >= lanes) for i, loop in enumerate(order)}
    maps = []
    # What is left of rows that the lanes do not divide is reduced at the end.
    ends, left = list(arrays), 0
    for i, axes in enumerate(loops.maps[:-1]):
        moved = tuple(places[axis] for axis in axes)
        if row in axes:
            *rest, size = shape_of(mlir, arrays[i])
            left = size % LANES
            if left:
                ends[i] = writer.part(arrays[i], size - left, left)
                arrays[i] = writer.part(arrays[i], 0, size - left)
            arrays[i] = writer.split(arrays[i], (*rest, size // LANES, LANES))
            moved = (*moved, lanes)
        maps.append(moved)
    shape = shape_of(mlir, into)
    result = tuple(places[axis] for axis in loops.maps[-1])
    kinds = (*[PARALLEL] * (lanes + 1), *[REDUCTION] * (len(order) - lanes))
    parts = writer.generic(
        Loops(kinds, (*maps, (*result, lanes))),
        arrays,
        writer.filled((*shape, LANES), _neutral(mlir, writer, combiner, start)),
        with_zero(mlir, writer, operation, combiner),
    )
    axes = tuple(range(len(shape)))
    kinds = (*[PARALLEL] * len(shape), REDUCTION)
    whole = writer.generic(
        Loops(kinds, ((*axes, len(shape)), axes)), [parts], into, _combined(mlir, writer, combiner)
    )
    if left:
        body = with_zero(mlir, writer, operation, combiner)
        whole = writer.generic(loops, ends, whole, body)
    mlir.replace(mlir.result(operation, 0), whole)
    mlir.destroy(operation)
    return True


def _row(mlir: Mlir, operation: int, loops: Loops) -> int | None:
    """The loop along the rows: the last axis of all operands that it is an axis of, and these are read from memory."""
    rows = set()
    for axes, array in zip(loops.maps[:-1], operands(mlir, operation), strict=False):
        if axes and loops.kinds[axes[-1]] == REDUCTION:
            size = shape_of(mlir, array)[-1]
            shortest = _SHORTEST_UNEVEN if size % LANES else _SHORTEST
            if size < shortest or not is_loaded(mlir, array):
                return None
            rows.add(axes[-1])
    if len(rows) != 1:
        return None
    (row,) = rows
    inner = all(row not in axes[:-1] for axes in loops.maps)
    known = all(n > 0 for v in operands(mlir, operation) for n in shape_of(mlir, v))
    return row if inner and known else None


def _neutral(mlir: Mlir, writer: Writer, combiner: int, start: int) -> int:
    """The number that the lanes begin with."""
    begins = mlir.operand(start, 0)
    zero = SUMS.get(name_of(mlir, combiner))
    return begins if zero is None else writer.number(zero, mlir.type_of(begins))


def _combined(mlir: Mlir, writer: Writer, combiner: int) -> int:
    """The scalar function that combines numbers."""
    kind = mlir.type_of(mlir.result(combiner, 0))
    block = writer.block([kind, kind])
    writer.into = block
    part, total = writer.arguments(block, 2)
    results = writer.clone(combiner, [total, part])
    writer.append(b"linalg.yield", [], results)
    return block
