"""Products whose transpose is read: the cotangent of ``w`` in ``x @ w`` is ``(ct.T @ x).T``.

IREE 3.13 transposes the result in the kernel that reads it, tile by tile, or in a kernel of its own. With its factors exchanged the product is
the transposed one.
"""

import re

from plugjax_iree.mlir import Mlir, defining_op, name_of, numbers, printed, users, walk
from plugjax_iree.mlir.generics import Writer
from plugjax_iree.mlir.products import DOT

_TRANSPOSE = b"stablehlo.transpose"
_NUMBERS = b"dot_dimension_numbers"
_SIDE = re.compile(r"\b([lr])hs_")


def apply(mlir: Mlir, module: int) -> int:
    """Exchange the factors of such products; returns their number."""
    found = [o for o in walk(mlir, module) if name_of(mlir, o) == _TRANSPOSE]
    return sum(_is_exchanged(mlir, operation) for operation in found)


def _is_exchanged(mlir: Mlir, transpose: int) -> bool:
    product = defining_op(mlir, mlir.operand(transpose, 0))
    if product is None or name_of(mlir, product) != DOT:
        return False
    if len(users(mlir, mlir.result(product, 0))) > 1:
        return False
    one, other = mlir.operand(product, 0), mlir.operand(product, 1)
    dims = printed(mlir, product, _NUMBERS)
    batch = _count(dims, "lhs_batching_dimensions")
    added = batch + _count(dims, "lhs_contracting_dimensions")
    left = mlir.rank(mlir.type_of(one)) - added
    right = mlir.rank(mlir.type_of(other)) - added
    middle = batch + left
    order = [*range(batch), *range(middle, middle + right), *range(batch, middle)]
    if not left or not right or numbers(mlir, transpose, b"permutation") != order:
        return False
    exchanged = _SIDE.sub(lambda side: "rl"["lr".index(side[1])] + "hs_", dims)
    writer = Writer(mlir, transpose)
    kind = mlir.type_of(mlir.result(transpose, 0))
    # IREE does not read the precision.
    made = writer.put(writer.operation(DOT, [kind], [other, one], {_NUMBERS: exchanged}))
    mlir.replace(mlir.result(transpose, 0), made)
    mlir.destroy(transpose)
    mlir.destroy(product)
    return True


def _count(dims: str, name: str) -> int:
    """How many dimensions of a name there are."""
    found = re.search(name + r" = \[([^\]]*)\]", dims)
    return len(found[1].split(",")) if found else 0
