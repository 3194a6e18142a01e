"""Constants that are not finite, or subnormal.

LLVM folds operations on constants, and its results differ from the processor's: the logistic function of a constant nan is 0.95, since its
polynomial passes through an integer, and subnormal numbers are not flushed to zero. Behind a barrier a constant is not folded. A single
infinity needs no barrier: reductions start with it. A remainder of constants may be nan, and is behind a barrier too.
"""

from collections.abc import Sequence

from plugjax_iree.mlir import (
    MOVES,
    Mlir,
    insert_barrier,
    name_of,
    operands,
    users,
    walk,
    words,
    written_type,
)
from plugjax_iree.mlir.products import sources

# Exponents of all ones are infinities and nans, those of all zeros subnormal numbers and zeros.
_EXPONENTS = {8: 0x7C, 16: 0x7C00, 32: 0x7F80_0000, 64: 0x7FF0_0000_0000_0000}
_BFLOAT16 = 0x7F80
# Operations that choose or move numbers, and do not compute with them.
_HARMLESS = (
    b"func.return",
    b"stablehlo.broadcast_in_dim",
    b"stablehlo.compare",
    b"stablehlo.concatenate",
    b"stablehlo.pad",
    b"stablehlo.reduce",
    b"stablehlo.reduce_window",
    b"stablehlo.return",
    b"stablehlo.select",
)


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers behind such constants; returns their number."""
    tests = {b"stablehlo.constant": _is_special, b"stablehlo.remainder": _is_of_constants}
    found = [
        operation
        for operation in walk(mlir, module)
        if (test := tests.get(name_of(mlir, operation))) and test(mlir, operation)
    ]
    for operation in found:
        insert_barrier(mlir, operation, mlir.result(operation, 0))
    return len(found)


def _is_of_constants(mlir: Mlir, remainder: int) -> bool:
    """Whether a remainder is one of floats that are constants."""
    element = written_type(mlir, mlir.element_type(mlir.type_of(mlir.result(remainder, 0))))
    origins = [list(sources(mlir, value, MOVES)) for value in operands(mlir, remainder)]
    return "f" in element and all(
        found and name_of(mlir, found[-1]) == b"stablehlo.constant" for found in origins
    )


def _is_special(mlir: Mlir, constant: int) -> bool:
    element, bits = words(mlir, constant)
    if not len(bits):
        return False
    width = mlir.float_bits(element)
    mask = _BFLOAT16 if mlir.is_bfloat16(element) else _EXPONENTS.get(width, 0)
    sign = 1 << (width - 1)
    if any(_is_subnormal(word & ~sign, mask) for word in bits):
        return True
    if not any(word & mask == mask for word in bits):
        return False
    return len(bits) > 2 or _is_computed_with(mlir, constant)


def _is_subnormal(magnitude: int, mask: int) -> bool:
    return bool(magnitude) and not magnitude & mask


def _is_computed_with(mlir: Mlir, constant: int) -> bool:
    """Whether an operation computes with a value that is the same everywhere."""
    pending: Sequence[int] = [constant]
    while pending:
        found = [r for op in pending for r in users(mlir, mlir.result(op, 0))]
        if any(name_of(mlir, user) not in _HARMLESS for user in found):
            return True
        pending = [r for r in found if name_of(mlir, r) == b"stablehlo.broadcast_in_dim"]
    return False
