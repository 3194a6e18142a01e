"""Products of converted unsigned numbers or bools: ``images.astype(float32) @ weights``, ``einsum("bn,bn->b", scores, one_hot)``.

IREE 3.13 fuses a conversion into the product that reads it, and converts as if the numbers were signed: 254 becomes -2, and True, a number of
one bit, -1. A barrier behind the conversion prevents the fusion.
"""

from plugjax_iree.mlir import MOVES, Mlir, insert_operand_barrier, name_of
from plugjax_iree.mlir.products import CONVOLUTION, DOT, product_operands, sources

_CONVERSION = b"stablehlo.convert"
# IREE looks through them.
_VIEWS = (*MOVES, b"stablehlo.slice", _CONVERSION)


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers behind the conversions; returns their number."""
    found = [
        (product, i)
        for product, i in product_operands(mlir, module, (CONVOLUTION, DOT))
        if _was_unsigned(mlir, mlir.operand(product, i))
    ]
    for product, i in found:
        insert_operand_barrier(mlir, product, i)
    return len(found)


def _was_unsigned(mlir: Mlir, value: int) -> bool:
    for operation in sources(mlir, value, _VIEWS):
        if name_of(mlir, operation) == _CONVERSION:
            element = mlir.element_type(mlir.type_of(mlir.operand(operation, 0)))
            if mlir.is_integer(element) and (mlir.is_unsigned(element) or mlir.bits(element) == 1):
                return True
    return False
