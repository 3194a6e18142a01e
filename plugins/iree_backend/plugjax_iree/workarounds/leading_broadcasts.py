"""Values that are repeated along an axis before their own, on Vulkan: ``x - jnp.max(x, 0)``.

IREE 3.13 computes both in one kernel, divides it among the workgroups by the axes of the first, and leaves a part of the result unwritten for some
lengths: rows of 50 or 100, not of 64 or 128. So what repeats a value reads it from behind a barrier, in a kernel of its own. IREE has made one
operation of elementwise ones before; those that are left are reductions, and operations that are read twice.
"""

from plugjax_iree.mlir import (
    UTIL_BARRIER,
    Mlir,
    defining_op,
    insert_operand_barrier,
    name_of,
    named,
    operations,
    program_text,
)
from plugjax_iree.mlir.generics import FILL, GENERIC, VIEWS, maps_of

_DEVICE, _VULKAN = b"util.global", '"vulkan"'


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    devices = (o for o in operations(mlir, module) if name_of(mlir, o) == _DEVICE)
    if not any(_VULKAN in program_text(mlir, device) for device in devices):
        return 0
    found = [
        (operation, i)
        for operation in named(mlir, module, GENERIC)
        for i, axes in enumerate(maps_of(mlir, operation))
        if _begins_later(axes) and _is_computed(mlir, mlir.operand(operation, i))
    ]
    for operation, i in found:
        insert_operand_barrier(mlir, operation, i, UTIL_BARRIER)
    return len(found)


def _begins_later(axes: tuple[int, ...]) -> bool:
    """Whether a loop that an operand's axes do not run along comes before one that they do."""
    return bool(axes) and len(set(axes)) <= max(axes)


def _is_computed(mlir: Mlir, value: int) -> bool:
    """Whether a value comes from an operation that may be in the kernel of what reads it."""
    operation = defining_op(mlir, value)
    name = b"" if operation is None else name_of(mlir, operation)
    if operation is not None and name in VIEWS:
        return name != UTIL_BARRIER and _is_computed(mlir, mlir.operand(operation, 0))
    return name.startswith(b"linalg.") and name != FILL
