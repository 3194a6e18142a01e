"""Reductions with several results, as ``argmax`` is lowered to one of values and places.

IREE 3.13 fuses a transposition of one result into the reduction, loses the other result, and refuses its own program ("expected number of
yield values (2)"). A barrier is inserted behind each used result.
"""

from plugjax_iree.mlir import Mlir, insert_barrier, name_of, users, walk

_REDUCE = b"stablehlo.reduce"


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers behind the results that are used; returns their number."""
    found = [
        (operation, value)
        for operation in walk(mlir, module)
        if name_of(mlir, operation) == _REDUCE and mlir.result_count(operation) > 1
        for value in (mlir.result(operation, i) for i in range(mlir.result_count(operation)))
        if users(mlir, value)
    ]
    for operation, value in found:
        insert_barrier(mlir, operation, value)
    return len(found)
