"""Long functions of single elements: random numbers, inverse error functions.

IREE 3.13 computes one vector of elements after the other. In a long function most operations wait for the one before, so two vectors at a time take three
quarters of the time.
"""

from plugjax_iree.mlir import Mlir, operands, shape_of
from plugjax_iree.mlir.generics import PARALLEL, body_of, loops_of
from plugjax_iree.mlir.kernels import alone_in_kernels, longest_tile, tile

_LONG = 100
# Elements of two vectors of 256 bits, and those that one workgroup computes.
_AT_A_TIME, _LONGEST = 16, 4096


def apply(mlir: Mlir, module: int) -> int:
    """Say how many elements such kernels compute at a time; returns their number."""
    found = [o for o in alone_in_kernels(mlir, module) if _is_long(mlir, o)]
    for operation in found:
        (size,) = shape_of(mlir, operands(mlir, operation)[-1])
        longest = longest_tile(size, _LONGEST, _AT_A_TIME)
        tile(mlir, operation, {"distribution": [longest], "vector_common_parallel": [_AT_A_TIME]})
    return len(found)


def _is_long(mlir: Mlir, operation: int) -> bool:
    """Whether an operation has one loop, of many vectors, and a long function."""
    loops = loops_of(mlir, operation)
    if loops is None or loops.kinds != (PARALLEL,) or mlir.result_count(operation) != 1:
        return False
    (size,) = shape_of(mlir, operands(mlir, operation)[-1])
    return size > 0 and size % _AT_A_TIME == 0 and len(body_of(mlir, operation)[1]) >= _LONG
