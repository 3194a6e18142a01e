"""Gathers from slices whose elements do not lie side by side: ``x[:, 0][i]``, ``pad(x, ((0, 0), (-1, 0)))[:, i]``.

IREE 3.13 fuses the slice into the gather, and LLVM refuses the addresses of some of these kernels ("LLVM Translation failed for operation:
builtin.unrealized_conversion_cast"). Behind a barrier the slice is copied first.
"""

from plugjax_iree.mlir import (
    Mlir,
    insert_operand_barrier,
    name_of,
    numbers,
    shape_of,
    walk,
)
from plugjax_iree.mlir.products import sources

_SLICES = (b"stablehlo.slice", b"stablehlo.dynamic_slice")
# With negative edges it cuts elements off.
_PAD = b"stablehlo.pad"
_VIEWS = (
    b"stablehlo.bitcast_convert",
    b"stablehlo.convert",
    b"stablehlo.reshape",
    b"stablehlo.transpose",
)


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    count = 0
    for operation in list(walk(mlir, module)):
        if name_of(mlir, operation) == b"stablehlo.gather" and _is_scattered(mlir, operation):
            insert_operand_barrier(mlir, operation, 0)
            count += 1
    return count


def _is_scattered(mlir: Mlir, gather: int) -> bool:
    """Whether the operand is a slice, seen through views, with gaps between its elements."""
    origins = sources(mlir, mlir.operand(gather, 0), _VIEWS)
    origin = next((o for o in origins if name_of(mlir, o) in (*_SLICES, _PAD)), None)
    if origin is None:
        return False
    if name_of(mlir, origin) == _PAD:
        return (
            min(
                numbers(mlir, origin, b"edge_padding_low")
                + numbers(mlir, origin, b"edge_padding_high"),
                default=0,
            )
            < 0
        )
    sizes = shape_of(mlir, mlir.result(origin, 0))
    whole = shape_of(mlir, mlir.operand(origin, 0))
    first = next((axis for axis, size in enumerate(sizes) if size > 1), len(sizes))
    strides = numbers(mlir, origin, b"strides") if name_of(mlir, origin) == _SLICES[0] else []
    return any(stride > 1 for stride in strides[first:]) or sizes[first + 1 :] != whole[first + 1 :]
