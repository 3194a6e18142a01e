"""Long functions of single elements: random numbers, inverse error functions.

IREE 3.13 computes one vector of elements after the other. In a long function most operations wait for the one before, so two vectors at a time take three
quarters of the time.
"""

from plugjax_iree.mlir import (
    Mlir,
    is_for_processor,
    name_of,
    named,
    operands,
    operations,
    set_parsed_attribute,
    shape_of,
)
from plugjax_iree.mlir.generics import GENERIC, PARALLEL, body_of, compilation, loops_of

_CODE = b"flow.executable"
_LONG = 100
# Elements of two vectors of 256 bits, and those that one workgroup computes.
_AT_A_TIME, _LONGEST = 16, 4096


def apply(mlir: Mlir, module: int) -> int:
    """Say how many elements such kernels compute at a time; returns their number."""
    if not is_for_processor(mlir, module):
        return 0
    count = 0
    for code in operations(mlir, module):
        if name_of(mlir, code) != _CODE:
            continue
        found = list(named(mlir, code, GENERIC))
        if len(found) == 1 and _is_long(mlir, found[0]):
            (size,) = shape_of(mlir, operands(mlir, found[0])[-1])
            longest = next(n for n in range(_LONGEST, 0, -_AT_A_TIME) if size % n == 0)
            tiles = {"distribution": [longest], "vector_common_parallel": [_AT_A_TIME]}
            set_parsed_attribute(mlir, found[0], b"compilation_info", compilation(tiles))
            count += 1
    return count


def _is_long(mlir: Mlir, operation: int) -> bool:
    """Whether an operation has one loop, of many vectors, and a long function."""
    loops = loops_of(mlir, operation)
    if loops is None or loops.kinds != (PARALLEL,) or mlir.result_count(operation) != 1:
        return False
    (size,) = shape_of(mlir, operands(mlir, operation)[-1])
    return size > 0 and size % _AT_A_TIME == 0 and len(body_of(mlir, operation)[1]) >= _LONG
