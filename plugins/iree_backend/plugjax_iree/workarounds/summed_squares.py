"""Sums of squares: ``(x * x).sum(1)``.

IREE 3.13 takes them for products of matrices and computes them element by element, which takes three times as long as a sum. With an operation between
square and sum that gives what it reads, they are sums like others.
"""

from plugjax_iree.mlir import Mlir, create, is_for_processor, name_of, named, operands, operations

_OPERATION = b"linalg.generic"
_BODY = [b"arith.mulf", b"arith.addf", b"linalg.yield"]
# A number with its own sign.
_SAME = b"math.copysign"


def apply(mlir: Mlir, module: int) -> int:
    """Write operations into the bodies of sums; returns their number."""
    if not is_for_processor(mlir, module):
        return 0
    found = [o for o in named(mlir, module, _OPERATION) if _is_sum_of_squares(mlir, o)]
    for operation in found:
        _separate(mlir, operation)
    return len(found)


def _is_sum_of_squares(mlir: Mlir, operation: int) -> bool:
    has_one_input = mlir.operand_count(operation) == 2
    return has_one_input and [name_of(mlir, o) for o in operations(mlir, operation)] == _BODY


def _separate(mlir: Mlir, operation: int) -> None:
    """Write the operation between the product and the sum in a body."""
    product, total, _ = operations(mlir, operation)
    value = mlir.result(product, 0)
    same = create(mlir, _SAME, mlir.location(product), [mlir.type_of(value)], [value, value])
    mlir.insert_after(mlir.block_of(product), product, same)
    for i, read in enumerate(operands(mlir, total)):
        if read == value:
            mlir.set_operand(total, i, mlir.result(same, 0))
