"""Updates of what turns out to be an array of one number: ``y = jnp.sum(x[:0], 0) + 0.5; y.at[0].add(1), jnp.cumsum(y.T, 1)``.

IREE 3.13 takes two arrays of as many bytes for one if it fills them with the same number, of whichever shapes, and updates the one in place
while the other is read. The update gets a copy. What is such an array from the beginning is copied by `updated_values`.
"""

from plugjax_iree.mlir import Mlir, defining_op, name_of, named
from plugjax_iree.mlir.generics import FILL, GENERIC, VIEWS, Writer

_CLONE = b"flow.tensor.clone"


def apply(mlir: Mlir, module: int) -> int:
    """Copy arrays before they are updated; returns their number."""
    found = [o for o in named(mlir, module, _CLONE) if _is_filled(mlir, mlir.operand(o, 0))]
    for clone in found:
        mlir.set_operand(clone, 0, Writer(mlir, clone).copied(mlir.operand(clone, 0)))
    return len(found)


def _is_filled(mlir: Mlir, value: int) -> bool:
    operation = defining_op(mlir, value)
    if operation is None:
        return False
    name = name_of(mlir, operation)
    if name in VIEWS:
        return _is_filled(mlir, mlir.operand(operation, 0))
    return name == FILL or (name == GENERIC and mlir.operand_count(operation) == 1)
