"""Slices with steps along an axis of which they take one element: ``x[:, ::2, 2:]`` of a shape ``(2, 1, 3)``.

IREE 3.13 makes a view of the array whose strides are multiplied by the steps. Where two axes of one element get the same stride by that, it cannot tell
which of them a reshape leaves out ("or a rank-reduced version"). A step that goes nowhere becomes 1.
"""

from plugjax_iree.mlir import Mlir, i64s, name_of, numbers, set_parsed_attribute, shape_of, walk


def apply(mlir: Mlir, module: int) -> int:
    """Write such slices without steps; returns their number."""
    found = [o for o in walk(mlir, module) if name_of(mlir, o) == b"stablehlo.slice"]
    return sum(_shorten(mlir, operation) for operation in found)


def _shorten(mlir: Mlir, slice_: int) -> bool:
    sizes = shape_of(mlir, mlir.result(slice_, 0))
    strides = numbers(mlir, slice_, b"strides")
    idle = [size in (0, 1) and stride > 1 for size, stride in zip(sizes, strides, strict=True)]
    if not any(idle):
        return False
    starts, limits = (numbers(mlir, slice_, name) for name in (b"start_indices", b"limit_indices"))
    ends = [
        start + size if is_idle else limit
        for start, size, limit, is_idle in zip(starts, sizes, limits, idle, strict=True)
    ]
    steps = [1 if is_idle else n for n, is_idle in zip(strides, idle, strict=True)]
    set_parsed_attribute(mlir, slice_, b"limit_indices", i64s(ends))
    set_parsed_attribute(mlir, slice_, b"strides", i64s(steps))
    return True
