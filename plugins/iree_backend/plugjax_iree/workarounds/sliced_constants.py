"""Slices of what is computed of constants alone: ``y = f(constant); y[:1] + x, y[1:] * x``.

IREE 3.13 computes and slices such a value in one kernel, and refuses some of them: "write affecting operations on global resources are
restricted to workgroup distributed contexts". Behind a barrier the value is computed once, by a kernel of its own.
"""

from plugjax_iree.mlir import (
    BARRIER,
    MOVES,
    Mlir,
    insert_barrier,
    name_of,
    operands,
    operations,
    users,
)

_BEGINNINGS = (b"stablehlo.constant", b"stablehlo.iota")
_SLICES = (b"stablehlo.slice", b"stablehlo.dynamic_slice")


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    return _hide(mlir, module, set())


def _hide(mlir: Mlir, program: int, constants: set[int]) -> int:
    """Within one operation's regions; ``constants`` has the values that are constants or computed of them."""
    count = 0
    for operation in list(operations(mlir, program)):
        name, read = name_of(mlir, operation), operands(mlir, operation)
        if mlir.region_count(operation):
            count += _hide(mlir, operation, constants)
        elif name in _BEGINNINGS:
            constants.add(mlir.result(operation, 0))
        elif (
            read
            and name != BARRIER
            and mlir.result_count(operation) == 1
            and all(value in constants for value in read)
        ):
            value = mlir.result(operation, 0)
            found = [name_of(mlir, user) for user in users(mlir, value)]
            # The compiler folds movements of constants.
            if name not in MOVES and len(found) > 1 and any(user in _SLICES for user in found):
                insert_barrier(mlir, operation, value)
                count += 1
            else:
                constants.add(value)
    return count
