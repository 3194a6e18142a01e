"""Products, and the operations whose results their operands are views of."""

from collections.abc import Iterator, Sequence

from plugjax_iree.mlir.interface import Mlir
from plugjax_iree.mlir.reading import defining_op, name_of, walk

DOT = b"stablehlo.dot_general"
CONVOLUTION = b"stablehlo.convolution"


def product_operands(
    mlir: Mlir, module: int, products: Sequence[bytes]
) -> Iterator[tuple[int, int]]:
    """Each product and the positions of its two factors."""
    for operation in walk(mlir, module):
        if name_of(mlir, operation) in products:
            yield operation, 0
            yield operation, 1


def sources(mlir: Mlir, value: int, views: Sequence[bytes]) -> Iterator[int]:
    """The operations that define a value, from the last one through views of their first operands to the first that is none."""
    operation = defining_op(mlir, value)
    while operation is not None:
        yield operation
        if name_of(mlir, operation) not in views:
            return
        operation = defining_op(mlir, mlir.operand(operation, 0))
