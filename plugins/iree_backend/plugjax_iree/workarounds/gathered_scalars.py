"""Numbers that are computed of elements at computed places and of a reduction: ``x[i] * 0.5 + tanh(sum(y))``.

IREE 3.13 computes them at the end of the reduction's kernel, by an operation without loops. Its vectorizer makes vectors of the elements that such an operation reads by
their places: the process ends, or the program is refused ("requires the same type for all operands and results"). The elements are read before the operation.
"""

from plugjax_iree.mlir import Mlir, defining_op, name_of, named, operands
from plugjax_iree.mlir.generics import GENERIC, Writer, body_of, loops_of
from plugjax_iree.mlir.kernels import kernels

_ELEMENT = b"tensor.extract"


def apply(mlir: Mlir, module: int) -> int:
    """Read elements before operations without loops; returns the number of operations that moved."""
    found = [o for kernel in kernels(mlir, module) for o in named(mlir, kernel, GENERIC)]
    return sum(_read_before(mlir, operation) for operation in found)


def _read_before(mlir: Mlir, operation: int) -> int:
    arguments, body = body_of(mlir, operation)
    if all(name_of(mlir, inner) != _ELEMENT for inner in body):
        return 0
    loops = loops_of(mlir, operation)
    if loops is None or loops.kinds:
        return 0
    writer = Writer(mlir, operation)
    outside = dict(zip(arguments, operands(mlir, operation), strict=True))
    moved = _places(mlir, body)
    for inner in moved:
        copy = mlir.clone(inner)
        for i, value in enumerate(operands(mlir, inner)):
            if value in outside:
                kind = [mlir.type_of(value)]
                element = writer.operation(_ELEMENT, kind, [outside[value]], {})
                mlir.set_operand(copy, i, writer.put(element))
        mlir.replace(mlir.result(inner, 0), writer.put(copy))
    for inner in reversed(moved):
        mlir.destroy(inner)
    return len(moved)


def _places(mlir: Mlir, body: list[int]) -> list[int]:
    """The operations that read elements, and those that compute their places, in their order."""
    found = set[int]()
    for operation in reversed(body):
        if operation in found or name_of(mlir, operation) == _ELEMENT:
            found.add(operation)
            origins = (defining_op(mlir, value) for value in operands(mlir, operation))
            found.update(origin for origin in origins if origin is not None)
    return [operation for operation in body if operation in found]
