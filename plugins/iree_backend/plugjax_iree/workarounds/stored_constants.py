"""Arrays of constants that Vulkan devices refuse within kernels: of bfloat16, and of complex numbers.

IREE 3.13 writes constants into the kernel that reads them: those of bfloat16 as numbers of 32 bits ("mismatch in result type bitwidth 16 and operand type
bitwidth 32"), complex ones as they are ("failed to legalize operation 'arith.constant'"). Behind a barrier they are in memory.
"""

from plugjax_iree.mlir import UTIL_BARRIER, Mlir, insert_barrier, is_for_vulkan, named
from plugjax_iree.mlir.interface import text_of


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    if not is_for_vulkan(mlir, module):
        return 0
    found = [o for o in named(mlir, module, b"arith.constant") if _is_refused(mlir, o)]
    for operation in found:
        insert_barrier(mlir, operation, mlir.result(operation, 0), UTIL_BARRIER)
    return len(found)


def _is_refused(mlir: Mlir, constant: int) -> bool:
    """Whether a constant is an array of such numbers, not all of them equal."""
    kind = mlir.type_of(mlir.result(constant, 0))
    value = mlir.attribute(constant, text_of(b"value"))
    if value is None or not mlir.is_array(kind) or mlir.is_splat(value):
        return False
    element = mlir.element_type(kind)
    return mlir.is_bfloat16(element) or mlir.is_complex(element)
