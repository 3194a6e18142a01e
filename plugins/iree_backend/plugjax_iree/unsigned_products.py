"""Products of what was unsigned or bool: ``images.astype(float32) @ weights``, ``einsum("bn,bn->b", scores, one_hot)``.

IREE 3.13 takes a conversion into the product that reads it, as one of signed numbers: 254 becomes -2, and True, a number of one bit, -1. Behind
a barrier the conversion is done before.
"""

from typing import Any

from plugjax_iree.mlir import MOVES, Mlir, bar_operand, borrowed, maker, name_of, walk

_PRODUCTS = (b"stablehlo.convolution", b"stablehlo.dot_general")
_CONVERSION = b"stablehlo.convert"
# IREE looks through them.
_VIEWS = (*MOVES, b"stablehlo.slice", _CONVERSION)


def keep_apart(invocation: Any) -> int:
    """Repairs a StableHLO program that an invocation has parsed and inlined; returns how many barriers it took.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), before its own phases.
    """
    with borrowed(invocation) as (mlir, module):
        found = [
            (product, i)
            for product in walk(mlir, module)
            if name_of(mlir, product) in _PRODUCTS
            for i in range(2)
            if _was_unsigned(mlir, mlir.operand(product, i))
        ]
        for product, i in found:
            bar_operand(mlir, product, i)
        return len(found)


def _was_unsigned(mlir: Mlir, value: int) -> bool:
    operation = maker(mlir, value)
    while operation is not None:
        name = name_of(mlir, operation)
        source = mlir.operand(operation, 0) if name in _VIEWS else None
        if source is None:
            return False
        if name == _CONVERSION:
            element = mlir.element_type(mlir.type_of(source))
            if mlir.is_integer(element) and (mlir.is_unsigned(element) or mlir.bits(element) == 1):
                return True
        operation = maker(mlir, source)
    return False
