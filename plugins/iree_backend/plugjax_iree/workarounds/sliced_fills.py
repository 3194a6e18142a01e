"""Slices of arrays of one number: ``pad(zeros((4, 4, 2))[:, :1:2], ...)``.

IREE 3.13 folds such a slice if the array is a constant, but not if it only becomes known as one while the program is optimised (branches that give the same, reversals).
It fills and slices the array in one kernel and refuses some of them: "write affecting operations on global resources are restricted to
workgroup distributed contexts". An array of the slice's shape is filled instead.
"""

from plugjax_iree.mlir import Mlir, defining_op, name_of, named, shape_of
from plugjax_iree.mlir.generics import FILL, Writer

_SLICE = b"tensor.extract_slice"


def apply(mlir: Mlir, module: int) -> int:
    """Fill arrays of the slices' shapes; returns the number of slices."""
    found = [
        (slice_, filled)
        for slice_ in named(mlir, module, _SLICE)
        if (filled := defining_op(mlir, mlir.operand(slice_, 0))) is not None
        and name_of(mlir, filled) == FILL
        and min(shape_of(mlir, mlir.result(slice_, 0)), default=0) >= 0
    ]
    for slice_, filled in found:
        result = mlir.result(slice_, 0)
        small = Writer(mlir, slice_).filled(shape_of(mlir, result), mlir.operand(filled, 0))
        mlir.replace(result, small)
        mlir.destroy(slice_)
    return len(found)
