"""Sums of products of which one factor lacks an axis that is added over: ``(x * v).sum()`` of a matrix and a vector.

IREE 3.13 takes them for products of matrices, whose factors both have the axes that are added over: "'vector.contract' op invalid
accumulator/result vector shape". With a zero added to the product they are not.
"""

from plugjax_iree.mlir import Mlir, operands
from plugjax_iree.mlir.generics import GENERIC, REDUCTION, Writer, loops_of
from plugjax_iree.mlir.kernels import in_kernels
from plugjax_iree.mlir.reductions import combiner_of, is_product, with_zero


def apply(mlir: Mlir, module: int) -> int:
    """Add zeros to such products; returns their number."""
    kernels = in_kernels(mlir, module, GENERIC)
    return sum(_is_changed(mlir, operation) for found in kernels for operation in found)


def _is_changed(mlir: Mlir, operation: int) -> bool:
    loops = loops_of(mlir, operation)
    if loops is None or REDUCTION not in loops.kinds:
        return False
    *factors, _ = loops.maps
    added = [axis for axis, kind in enumerate(loops.kinds) if kind == REDUCTION]
    if len(factors) != 2 or all(axis in each for axis in added for each in factors):
        return False
    combiner = combiner_of(mlir, operation)
    if combiner is None or not any(is_product(mlir, v) for v in operands(mlir, combiner)):
        return False
    *arrays, into = operands(mlir, operation)
    writer = Writer(mlir, operation)
    changed = writer.generic(loops, arrays, into, with_zero(mlir, writer, operation, combiner))
    mlir.replace(mlir.result(operation, 0), changed)
    mlir.destroy(operation)
    return True
