"""Kernels for Vulkan devices that read or write slices: they take one number at a time where vectors do not begin at a slice's first element.

IREE 3.13 reads vectors of an array at multiples of their length: the slice ``x[:, 6:30]`` of rows of 36 elements is read from the fourth on.
"""

from plugjax_iree.mlir import (
    Mlir,
    in_all,
    is_for_vulkan,
    name_of,
    named,
    numbers,
    printed,
    set_parsed_attribute,
)
from plugjax_iree.mlir.kernels import LOADED, STORED, scheduled

_SLICES = (LOADED, STORED, b"tensor.extract_slice", b"tensor.insert_slice")
_TRANSLATION = b"translation_info"
_VECTORS, _NUMBERS = "<BaseVectorize>", "<BaseDistribute>"
# No vector has more elements.
_LONGEST = 16


def apply(mlir: Mlir, module: int) -> int:
    """Let kernels take one number at a time; returns how many do."""
    if not is_for_vulkan(mlir, module):
        return 0
    changes = 0
    for executable in scheduled(mlir, module):
        for function in named(mlir, executable, b"func.func"):
            translation = printed(mlir, function, _TRANSLATION)
            if _VECTORS in translation and any(
                _is_shifted(mlir, o) for o in in_all(mlir, function)
            ):
                text = translation.replace(_VECTORS, _NUMBERS)
                set_parsed_attribute(mlir, function, _TRANSLATION, text)
                changes += 1
    return changes


def _is_shifted(mlir: Mlir, operation: int) -> bool:
    """Whether an operation reads or writes a slice whose rows may begin within a vector."""
    if name_of(mlir, operation) not in _SLICES:
        return False
    offsets = numbers(mlir, operation, b"static_offsets")
    # What is known only when the program runs is the smallest integer.
    return bool(offsets) and (offsets[-1] < 0 or offsets[-1] % _LONGEST != 0)
