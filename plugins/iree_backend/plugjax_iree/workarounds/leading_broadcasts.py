"""Values that are repeated along an axis before their own, on Vulkan: ``x - jnp.max(x, 0)``.

IREE 3.13 computes both in one kernel, divides it among the workgroups by the axes of the first, and leaves a part of the result unwritten for some
lengths: rows of 50 or 100, not of 64 or 128. So what repeats a value reads it from behind a barrier, in a kernel of its own. IREE has made one
operation of elementwise ones before; those that are left are reductions, and operations that are read twice.
"""

from plugjax_iree.mlir import UTIL_BARRIER, Mlir, insert_operand_barrier, is_for_vulkan, named
from plugjax_iree.mlir.generics import GENERIC, is_fusible, maps_of


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    if not is_for_vulkan(mlir, module):
        return 0
    found = [
        (operation, i)
        for operation in named(mlir, module, GENERIC)
        for i, axes in enumerate(maps_of(mlir, operation))
        if _begins_later(axes) and is_fusible(mlir, mlir.operand(operation, i))
    ]
    for operation, i in found:
        insert_operand_barrier(mlir, operation, i, UTIL_BARRIER)
    return len(found)


def _begins_later(axes: tuple[int, ...]) -> bool:
    """Whether a loop that an operand's axes do not run along comes before one that they do."""
    return bool(axes) and len(set(axes)) <= max(axes)
