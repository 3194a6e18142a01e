"""Updates by what turns out to be the updated array, or a slice of it: ``x.at[0].set(x[0] + 0)``, ``x.at[i].add(x * 1)``.

IREE 3.13 updates in place, and reads the array while it writes; ranges that overlap may also be refused when the program runs ("source and target ranges
overlap within the same buffer"). A slice is an array of its own behind a barrier, and a whole array is copied. What is such an update from the beginning
is copied by `overlapping_updates`.
"""

from plugjax_iree.mlir import (
    UTIL_BARRIER,
    Mlir,
    defining_op,
    insert_operand_barrier,
    name_of,
    named,
    shape_of,
)
from plugjax_iree.mlir.generics import INSERT, VIEWS, Writer

# Their first operands are the updates. The last operand of a scatter is what it updates, and the second one of an insertion.
_SCATTER = b"iree_linalg_ext.scatter"
_SLICE = b"tensor.extract_slice"


def apply(mlir: Mlir, module: int) -> int:
    """Copy updates; returns their number."""
    found = [o for name in (INSERT, _SCATTER) for o in named(mlir, module, name)]
    return sum(_copy_update(mlir, operation) for operation in found)


def _copy_update(mlir: Mlir, operation: int) -> bool:
    place = 1 if name_of(mlir, operation) == INSERT else mlir.operand_count(operation) - 1
    update = mlir.operand(operation, 0)
    array, is_slice = _origin(mlir, update)
    unknown = min(shape_of(mlir, update), default=0) < 0
    if unknown or array != _origin(mlir, mlir.operand(operation, place))[0]:
        return False
    if not is_slice:
        mlir.set_operand(operation, 0, Writer(mlir, operation).copied(update))
    insert_operand_barrier(mlir, operation, 0, UTIL_BARRIER)
    return True


def _origin(mlir: Mlir, value: int) -> tuple[int, bool]:
    """The value that another one is a view of, and whether it is a slice of that."""
    operation = defining_op(mlir, value)
    name = b"" if operation is None else name_of(mlir, operation)
    if operation is None or name not in (*VIEWS, _SLICE):
        return value, False
    origin, is_slice = _origin(mlir, mlir.operand(operation, 0))
    return origin, is_slice or name == _SLICE
