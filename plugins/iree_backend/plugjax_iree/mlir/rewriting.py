"""Rewriting a program: new operations, barriers and copies."""

import ctypes
from collections.abc import Sequence

from plugjax_iree.mlir.interface import Mlir, NamedAttribute, Pointer, text_of
from plugjax_iree.mlir.reading import defining_op, name_of, operands, shape_of

# A barrier in StableHLO, and what the compiler makes of it.
BARRIER, UTIL_BARRIER = b"stablehlo.optimization_barrier", b"util.optimization_barrier"


def create(
    mlir: Mlir,
    name: bytes,
    location: int,
    types: Sequence[int],
    values: Sequence[int],
    attributes: Sequence[tuple[int, int]] = (),
    regions: Sequence[int] = (),
) -> int:
    """An operation that is in no block yet; names of attributes are identifiers, and a block becomes a region."""
    state = mlir.state(text_of(name), location)
    mlir.add_results(ctypes.byref(state), len(types), (Pointer * len(types))(*types))
    mlir.add_operands(ctypes.byref(state), len(values), (Pointer * len(values))(*values))
    if attributes:
        named = (NamedAttribute * len(attributes))(*(NamedAttribute(*pair) for pair in attributes))
        mlir.add_attributes(ctypes.byref(state), len(attributes), named)
    if regions:
        made = [mlir.new_region() for _ in regions]
        for region, block in zip(made, regions, strict=True):
            mlir.append_block(region, block)
        mlir.add_regions(ctypes.byref(state), len(made), (Pointer * len(made))(*made))
    return mlir.create(ctypes.byref(state))


def constant(mlir: Mlir, before: int, value: str, shape: str) -> int:
    """A ``stablehlo.constant``, written before an operation.

    Args:
        mlir: the interface.
        before: the operation.
        value: of all elements, as MLIR writes it.
        shape: the type of the array, as MLIR writes it.
    """
    context = mlir.context(before)
    kind = mlir.parse_type(context, text_of(shape.encode()))
    elements = mlir.parse_attribute(context, text_of(f"dense<{value}> : {shape}".encode()))
    assert kind is not None
    assert elements is not None
    named = [(mlir.identifier(context, text_of(b"value")), elements)]
    return _written(mlir, b"stablehlo.constant", before, kind, [], named)


def set_parsed_attribute(mlir: Mlir, operation: int, name: bytes, text: str) -> None:
    """Give an operation an attribute, as MLIR writes it."""
    attribute = mlir.parse_attribute(mlir.context(operation), text_of(text.encode()))
    assert attribute is not None, text
    mlir.set_attribute(operation, text_of(name), attribute)


def i64s(values: Sequence[int]) -> str:
    """An attribute that is an array of 64-bit integers, as MLIR writes it."""
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


def write_number(mlir: Mlir, before: int, number: int) -> int:
    """A constant int32, written before an operation."""
    return constant(mlir, before, str(number), "tensor<i32>")


def choose(mlir: Mlir, loop: int, end: int, one: int, other: int) -> int:
    """The first of two values of one type; the compiler cannot know that it is always the first.

    Args:
        mlir: the interface.
        loop: the operation that the condition is written before.
        end: the operation in it that the choice is written before.
        one: what is chosen.
        other: what is not.
    """
    kind = mlir.type_of(one)
    # Of the shape of the values: a scalar would be read back to the host.
    known = constant(
        mlir, loop, "true", f"tensor<{'x'.join([*map(str, shape_of(mlir, one)), 'i1'])}>"
    )
    unknown = _written(mlir, BARRIER, loop, mlir.type_of(known), [known])
    return _written(mlir, b"stablehlo.select", end, kind, [unknown, one, other])


def is_copy(mlir: Mlir, operation: int) -> bool:
    """Whether an operation chooses between a value and itself behind a barrier, which copies it."""
    if name_of(mlir, operation) != b"stablehlo.select":
        return False
    _, value, again = operands(mlir, operation)
    barrier = defining_op(mlir, again)
    return (
        barrier is not None
        and name_of(mlir, barrier) == BARRIER
        and operands(mlir, barrier) == [value]
    )


def _written(
    mlir: Mlir,
    name: bytes,
    before: int,
    kind: int,
    values: Sequence[int],
    attributes: Sequence[tuple[int, int]] = (),
) -> int:
    """The result of an operation that is written before another one."""
    operation = create(mlir, name, mlir.location(before), [kind], values, attributes)
    mlir.insert_before(mlir.block_of(before), before, operation)
    return mlir.result(operation, 0)


def insert_barrier(mlir: Mlir, operation: int, value: int, name: bytes = BARRIER) -> None:
    """Insert a barrier, of StableHLO if no other name is given, between a result of an operation and all its users."""
    kind = mlir.type_of(value)
    barrier = create(mlir, name, mlir.location(operation), [kind], [value])
    mlir.insert_after(mlir.block_of(operation), operation, barrier)
    mlir.replace(value, mlir.result(barrier, 0))
    mlir.set_operand(barrier, 0, value)


def insert_operand_barrier(mlir: Mlir, operation: int, index: int, name: bytes = BARRIER) -> None:
    """Insert a barrier, of StableHLO if no other name is given, before an operand of an operation; other users of the value stay as they are."""
    value = mlir.operand(operation, index)
    barrier = create(mlir, name, mlir.location(operation), [mlir.type_of(value)], [value])
    mlir.insert_before(mlir.block_of(operation), operation, barrier)
    mlir.set_operand(operation, index, mlir.result(barrier, 0))
