"""An element of an array, as a number and as an array of more axes than that: ``e = x[:1].reshape(1, 1); return e, e * y``.

IREE 3.13 lets elementwise operations read a slice without axes. Then it moves the other result's axes before the slice, which has more axes than
the array now, and is refused ("expected rank to be smaller or equal to the other rank"). The other result comes from a slice with the array's axes.
"""

from plugjax_iree.mlir import Mlir, name_of, named, numbers, operands, shape_of, users
from plugjax_iree.mlir.generics import Writer

_SLICE, _EXPAND = b"tensor.extract_slice", b"tensor.expand_shape"


def apply(mlir: Mlir, module: int) -> int:
    """Write such slices; returns their number."""
    found = [
        (slice_, user)
        for slice_ in named(mlir, module, _SLICE)
        if shape_of(mlir, mlir.result(slice_, 0)) == ()
        for user in users(mlir, mlir.result(slice_, 0))
        if name_of(mlir, user) == _EXPAND
        and len(shape_of(mlir, mlir.result(user, 0))) > len(shape_of(mlir, mlir.operand(slice_, 0)))
    ]
    for slice_, user in found:
        _slice_again(mlir, slice_, user)
    return len(found)


def _slice_again(mlir: Mlir, slice_: int, user: int) -> None:
    array, *computed = operands(mlir, slice_)
    expanded = mlir.result(user, 0)
    ones = [1] * len(shape_of(mlir, array))
    writer = Writer(mlir, user)
    kind = writer.array(ones, mlir.element_type(mlir.type_of(array)))
    offsets = numbers(mlir, slice_, b"static_offsets")
    element = writer.slice(array, kind, offsets, ones, computed)
    mlir.replace(expanded, writer.split(element, shape_of(mlir, expanded)))
    mlir.destroy(user)
