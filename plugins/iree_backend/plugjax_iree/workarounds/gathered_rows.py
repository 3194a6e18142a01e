"""Gathers of rows: ``x[i]``.

IREE 3.13 does not see that the place of a row is the same for all elements of a vector, as it comes as an element of another operand, and reads the elements
of the row one by one. Where the kernel reads the place by its number, they are read as a vector.
"""

from collections.abc import Sequence

from plugjax_iree.mlir import Mlir, defining_op, name_of, operands, printed
from plugjax_iree.mlir.generics import GENERIC, Writer, body_of, loops_of
from plugjax_iree.mlir.kernels import in_kernels

_EXTRACT = b"tensor.extract"
_INDEX = b"linalg.index"


def apply(mlir: Mlir, module: int) -> int:
    """Let kernels read places by their numbers; returns how many operands they read so."""
    kernels = in_kernels(mlir, module, GENERIC)
    return sum(_read_places(mlir, operation) for found in kernels for operation in found)


def _read_places(mlir: Mlir, operation: int) -> int:
    arguments, body = body_of(mlir, operation)
    gathers = [o for o in body if name_of(mlir, o) == _EXTRACT]
    loops = loops_of(mlir, operation) if gathers else None
    if loops is None or not loops.maps[-1]:
        return 0
    innermost = loops.maps[-1][-1]
    places: set[int] = set()
    for gather in gathers:
        _, *numbers = operands(mlir, gather)
        if len(numbers) > 1 and _loop(mlir, numbers[-1]) == innermost:
            places |= _arguments(mlir, numbers[:-1], arguments)
    count = 0
    for argument, array, axes in zip(arguments, operands(mlir, operation), loops.maps, strict=True):
        if argument in places and array != operands(mlir, operation)[-1] and innermost not in axes:
            mlir.replace(argument, _element(mlir, body[0], array, axes))
            count += 1
    return count


def _loop(mlir: Mlir, value: int) -> int | None:
    """The loop whose number a value is, or is more than by a constant."""
    origin = defining_op(mlir, value)
    if origin is not None and name_of(mlir, origin) == b"arith.addi":
        value, start = operands(mlir, origin)
        constant = defining_op(mlir, start)
        is_shifted = constant is not None and name_of(mlir, constant) == b"arith.constant"
        return _loop(mlir, value) if is_shifted else None
    if origin is None or name_of(mlir, origin) != _INDEX:
        return None
    return int(printed(mlir, origin, b"dim").split()[0])


def _arguments(mlir: Mlir, values: Sequence[int], arguments: Sequence[int]) -> set[int]:
    """The arguments that some values are computed of."""
    left, seen = list(values), set[int]()
    while left:
        value = left.pop()
        origin = defining_op(mlir, value)
        if value not in seen and origin is not None:
            left += operands(mlir, origin)
        seen.add(value)
    return seen.intersection(arguments)


def _element(mlir: Mlir, before: int, array: int, axes: Sequence[int]) -> int:
    """The element of an array at the numbers of some loops, read before an operation."""
    writer = Writer(mlir, before)
    index = writer.type("index")
    numbers = [
        writer.put(writer.operation(_INDEX, [index], [], {b"dim": f"{axis} : i64"}))
        for axis in axes
    ]
    kind = mlir.element_type(mlir.type_of(array))
    return writer.put(writer.operation(_EXTRACT, [kind], [array, *numbers], {}))
