"""Factors of products that are filled with a number, on Vulkan devices: they are in memory.

IREE 3.13 fills them in the kernel of the product. There the threads of a workgroup fill memory that they share, and do not wait for one
another before they read it. Behind a barrier the factor is filled by a step of its own.
"""

from plugjax_iree.mlir import (
    UTIL_BARRIER,
    Mlir,
    in_all,
    insert_operand_barrier,
    is_for_vulkan,
    name_of,
)
from plugjax_iree.mlir.generics import FILL, GENERIC, VIEWS
from plugjax_iree.mlir.products import sources

_OF_LINALG = b"linalg."


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    if not is_for_vulkan(mlir, module):
        return 0
    found = [
        (operation, index)
        for operation in in_all(mlir, module)
        if _multiplies(mlir, operation)
        for index in range(mlir.operand_count(operation) - mlir.result_count(operation))
        if _is_filled(mlir, mlir.operand(operation, index))
    ]
    for operation, index in found:
        insert_operand_barrier(mlir, operation, index, UTIL_BARRIER)
    return len(found)


def _multiplies(mlir: Mlir, operation: int) -> bool:
    """Whether an operation is a product of arrays with a name of its own: of matrices, vectors, images."""
    name = name_of(mlir, operation)
    return name.startswith(_OF_LINALG) and name not in (FILL, GENERIC)


def _is_filled(mlir: Mlir, value: int) -> bool:
    """Whether an array, maybe seen otherwise, is filled with a number."""
    return any(name_of(mlir, origin) == FILL for origin in sources(mlir, value, VIEWS))
