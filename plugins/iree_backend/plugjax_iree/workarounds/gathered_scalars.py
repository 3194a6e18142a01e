"""Numbers that are computed of elements at computed places and of a reduction: ``i = searchsorted(x, 0.0); cond(p, lambda: i, lambda: i + any(y))``.

IREE 3.13 fuses what is computed at the end of a reduction into its kernel, and its vectorizer ends the process on an operation without loops that reads elements by their places
there. The reduction's result is read from behind a barrier.
"""

from plugjax_iree.mlir import (
    UTIL_BARRIER,
    Mlir,
    defining_op,
    in_all,
    insert_operand_barrier,
    name_of,
    operands,
)
from plugjax_iree.mlir.generics import GENERIC, body_of, loops_of

_ELEMENT = b"tensor.extract"


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    count = 0
    for operation in [o for o in in_all(mlir, module) if _is_number_of_elements(mlir, o)]:
        for i, value in enumerate(operands(mlir, operation)):
            origin = defining_op(mlir, value)
            if origin is not None and name_of(mlir, origin) == GENERIC:
                insert_operand_barrier(mlir, operation, i, UTIL_BARRIER)
                count += 1
    return count


def _is_number_of_elements(mlir: Mlir, operation: int) -> bool:
    """Whether an operation has no loops and reads elements by their places."""
    if name_of(mlir, operation) != GENERIC:
        return False
    _, body = body_of(mlir, operation)
    if all(name_of(mlir, inner) != _ELEMENT for inner in body):
        return False
    loops = loops_of(mlir, operation)
    return loops is not None and not loops.kinds
