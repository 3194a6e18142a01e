"""Padding of a padded array, where one of the two spreads the elements.

IREE 3.13 makes one ``pad`` of the two and loses one of the spreads: the padded derivative of a convolution with strides has its elements
side by side. A barrier separates them.
"""

from plugjax_iree.mlir import (
    Mlir,
    defining_op,
    insert_operand_barrier,
    name_of,
    numbers,
    walk,
)

_PAD = b"stablehlo.pad"


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers between them; returns their number."""
    found = [
        operation
        for operation in walk(mlir, module)
        if name_of(mlir, operation) == _PAD and _is_nested(mlir, operation)
    ]
    for operation in found:
        insert_operand_barrier(mlir, operation, 0)
    return len(found)


def _is_nested(mlir: Mlir, operation: int) -> bool:
    source = defining_op(mlir, mlir.operand(operation, 0))
    if source is None or name_of(mlir, source) != _PAD:
        return False
    return any(any(numbers(mlir, pad, b"interior_padding")) for pad in (operation, source))
