"""Arrays of constants of bfloat16 on Vulkan devices, which are refused within kernels ("mismatch in result type bitwidth 16 and operand type bitwidth 32").

IREE 3.13 writes them into the kernel that reads them, as numbers of 32 bits. Behind a barrier they are in memory.
"""

from plugjax_iree.mlir import UTIL_BARRIER, Mlir, insert_barrier, is_for_vulkan, named
from plugjax_iree.mlir.interface import text_of


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    if not is_for_vulkan(mlir, module):
        return 0
    found = [o for o in named(mlir, module, b"arith.constant") if _is_of_brain_floats(mlir, o)]
    for operation in found:
        insert_barrier(mlir, operation, mlir.result(operation, 0), UTIL_BARRIER)
    return len(found)


def _is_of_brain_floats(mlir: Mlir, constant: int) -> bool:
    """Whether a constant is an array of bfloat16, not all of one number."""
    kind = mlir.type_of(mlir.result(constant, 0))
    value = mlir.attribute(constant, text_of(b"value"))
    return (
        value is not None
        and mlir.is_array(kind)
        and mlir.is_bfloat16(mlir.element_type(kind))
        and not mlir.is_splat(value)
    )
