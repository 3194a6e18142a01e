"""Floating-point arithmetic on Vulkan devices: it is said to be exact.

A driver may reorder what it is not told to leave: Mesa's computes ``(x + y) - x`` as ``y``, which ends compensated sums, and ``x - x`` as 0 where
``x`` is infinite. IREE 3.13 says nothing. The decoration ``NoContraction`` of SPIR-V forbids that, for each operation.
"""

from plugjax_iree.mlir import Mlir, in_all, is_for_vulkan, named, set_parsed_attribute
from plugjax_iree.mlir.spirv import CODE, is_arithmetic


def apply(mlir: Mlir, module: int) -> int:
    """Say of each operation of arithmetic that it is exact; returns their number."""
    if not is_for_vulkan(mlir, module):
        return 0
    changes = 0
    for code in named(mlir, module, CODE):
        for operation in in_all(mlir, code):
            if is_arithmetic(mlir, operation):
                set_parsed_attribute(mlir, operation, b"no_contraction", "unit")
                changes += 1
    return changes
