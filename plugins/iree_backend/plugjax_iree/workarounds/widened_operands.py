"""Numbers that are widened and read twice, on Vulkan devices: ``y = x.astype(jnp.float32); y - y.sum(0)`` of bfloat16 numbers.

IREE 3.13 widens them anew in each kernel that reads them. A kernel that then reduces them along an axis before the last divides the two operations
among the workgroups in different ways, and some sums lack elements. So what is widened is read from behind a barrier.
"""

from collections.abc import Iterator

from plugjax_iree.mlir import (
    UTIL_BARRIER,
    Mlir,
    bits_of,
    insert_barrier,
    is_for_vulkan,
    name_of,
    named,
    operands,
    users,
)
from plugjax_iree.mlir.generics import GENERIC, VIEWS


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    if not is_for_vulkan(mlir, module):
        return 0
    found = [
        o
        for o in named(mlir, module, GENERIC)
        if _widens(mlir, o) and len(set(_readers(mlir, mlir.result(o, 0)))) > 1
    ]
    for operation in found:
        insert_barrier(mlir, operation, mlir.result(operation, 0), UTIL_BARRIER)
    return len(found)


def _readers(mlir: Mlir, value: int) -> Iterator[int]:
    """The operations that read a value, or a view of it."""
    for user in users(mlir, value):
        if name_of(mlir, user) in VIEWS:
            yield from _readers(mlir, mlir.result(user, 0))
        else:
            yield user


def _widens(mlir: Mlir, generic: int) -> bool:
    """Whether an operation has one operand, of numbers with fewer bits than its results."""
    kinds = [mlir.type_of(value) for value in operands(mlir, generic)]
    if len(kinds) != 2 or not all(map(mlir.is_array, kinds)):
        return False
    numbers = [mlir.element_type(kind) for kind in kinds]
    if not all(mlir.is_integer(n) or mlir.is_float(n) for n in numbers):
        return False
    narrow, wide = (bits_of(mlir, n) for n in numbers)
    return narrow < wide
