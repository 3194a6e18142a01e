"""Reading a program: its operations, who defines and who uses a value, attributes and constants."""

import ctypes
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from plugjax_iree.mlir.interface import Mlir, Printer, Text, text_of

#: Operations with programs in their regions; the regions of others (reductions, sorts ...) are scalar functions.
PROGRAMS = (b"func.func", b"stablehlo.while", b"stablehlo.if", b"stablehlo.case")

#: Operations that move elements and compute nothing.
MOVES = (
    b"stablehlo.broadcast_in_dim",
    b"stablehlo.pad",
    b"stablehlo.reshape",
    b"stablehlo.reverse",
    b"stablehlo.transpose",
)


def blocks(mlir: Mlir, parent: int) -> Iterator[int]:
    """The blocks of all regions of an operation."""
    for i in range(mlir.region_count(parent)):
        block = mlir.first_block(mlir.region(parent, i))
        while block is not None:
            yield block
            block = mlir.next_block(block)


def operations(mlir: Mlir, parent: int) -> Iterator[int]:
    """The operations right inside an operation."""
    for block in blocks(mlir, parent):
        yield from in_block(mlir, block)


def in_block(mlir: Mlir, block: int) -> Iterator[int]:
    """The operations of a block."""
    operation = mlir.first_operation(block)
    while operation is not None:
        yield operation
        operation = mlir.next_operation(operation)


def walk(mlir: Mlir, program: int) -> Iterator[int]:
    """The operations of a StableHLO program, each before those of its regions, without the scalar functions of reductions and sorts."""
    for operation in operations(mlir, program):
        yield operation
        if name_of(mlir, operation) in PROGRAMS:
            yield from walk(mlir, operation)


def in_all(mlir: Mlir, parent: int) -> Iterator[int]:
    """The operations in an operation, each before those of its regions."""
    for operation in operations(mlir, parent):
        yield operation
        yield from in_all(mlir, operation)


def named(mlir: Mlir, parent: int, name: bytes, outside: bytes = b"") -> Iterator[int]:
    """The operations of a name in an operation, but for those in one another and in operations of the name ``outside``."""
    for operation in operations(mlir, parent):
        found = name_of(mlir, operation)
        if found == name:
            yield operation
        elif found != outside:
            yield from named(mlir, operation, name, outside)


def name_of(mlir: Mlir, operation: int) -> bytes:
    """Its dialect and name: ``b"stablehlo.add"``."""
    name = mlir.text(mlir.name(operation))
    return ctypes.string_at(name.data, name.length)


def operands(mlir: Mlir, operation: int) -> list[int]:
    """The values it reads."""
    return [mlir.operand(operation, i) for i in range(mlir.operand_count(operation))]


def defining_op(mlir: Mlir, value: int) -> int | None:
    """The operation that gives a value; ``None`` for arguments."""
    return mlir.owner(value) if mlir.is_result(value) else None


def users(mlir: Mlir, value: int) -> list[int]:
    """The operations that read a value, as often as they do."""
    found = []
    use = mlir.first_use(value)
    while use is not None:
        found.append(mlir.user(use))
        use = mlir.next_use(use)
    return found


def numbers(mlir: Mlir, operation: int, attribute: bytes) -> list[int]:
    """An attribute that is an array of 64-bit integers.

    Raises:
        KeyError: the operation does not have it.
    """
    found = mlir.attribute(operation, text_of(attribute))
    if found is None:
        raise KeyError(attribute.decode())
    return [mlir.number(found, i) for i in range(mlir.number_count(found))]


def shape_of(mlir: Mlir, value: int) -> tuple[int, ...]:
    """The shape of an array."""
    kind = mlir.type_of(value)
    return tuple(mlir.size(kind, axis) for axis in range(mlir.rank(kind)))


def written_type(mlir: Mlir, kind: int) -> str:
    """A type as MLIR writes it."""
    return _written(lambda into: mlir.print_type(kind, into, None))


def size_of(mlir: Mlir, value: int) -> int:
    """How many elements an array has."""
    return math.prod(shape_of(mlir, value))


def reads_whole_axes(mlir: Mlir, operation: int, index: int) -> bool:
    """Whether a ``linalg.generic`` reads each element of an operand, in any order and once or more often."""
    maps = mlir.attribute(operation, text_of(b"indexing_maps"))
    assert maps is not None
    return mlir.is_projected_permutation(mlir.map_of(mlir.element(maps, index)))


def is_zero(mlir: Mlir, constant: int) -> bool:
    """Whether all elements of a ``stablehlo.constant`` are 0 (and not -0); ``False`` for complex ones."""
    value = mlir.attribute(constant, text_of(b"value"))
    element = mlir.element_type(mlir.type_of(mlir.result(constant, 0)))
    if value is None or not mlir.is_splat(value) or mlir.is_complex(element):
        return False
    return not any(ctypes.string_at(mlir.raw_data(value), (bits_of(mlir, element) + 7) // 8))


def bits_of(mlir: Mlir, element: int) -> int:
    """How many bits a number of a type of integers or floats has."""
    return mlir.float_bits(element) if mlir.is_float(element) else mlir.bits(element)


def printed(mlir: Mlir, operation: int, name: bytes) -> str:
    """An attribute as MLIR writes it; empty if there is none."""
    attribute = mlir.attribute(operation, text_of(name))
    if attribute is None:
        return ""
    return _written(lambda into: mlir.print_attribute(attribute, into, None))


def line_of(mlir: Mlir, operation: int) -> int:
    """The line of the text that an operation was read from; 0 if it is not known."""
    location = mlir.location(operation)
    found = _LINE.search(_written(lambda into: mlir.print_location(location, into, None)))
    return int(found[1]) if found else 0


def program_text(mlir: Mlir, module: int) -> str:
    """A whole program with the places that its operations come from."""
    flags = mlir.printing()
    mlir.with_locations(flags, True, False)
    try:
        return _written(lambda into: mlir.print_operation(module, flags, into, None))
    finally:
        mlir.end_printing(flags)


def device(mlir: Mlir, module: int, code: str) -> str:
    """The device that a program is compiled for by the part of IREE named ``code``, as MLIR writes it, once IREE has chosen devices; empty if it is for none."""
    devices = (
        printed(mlir, o, b"initial_value")
        for o in operations(mlir, module)
        if name_of(mlir, o) == b"util.global" and printed(mlir, o, b"type") == "!hal.device"
    )
    return next((text for text in devices if f'"{code}"' in text), "")


def processor(mlir: Mlir, module: int) -> str:
    """The processor that LLVM compiles a program for, likewise."""
    return device(mlir, module, "llvm-cpu")


def is_for_processor(mlir: Mlir, module: int) -> bool:
    """Whether LLVM compiles a program for a processor, once IREE has chosen devices."""
    return bool(processor(mlir, module))


def is_for_vulkan(mlir: Mlir, module: int) -> bool:
    """Whether a program is for a Vulkan device, likewise."""
    return bool(device(mlir, module, "vulkan-spirv"))


_LINE = re.compile(r'"source\.mlir":(\d+)')
_CODES: dict[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}


def words(mlir: Mlir, constant: int) -> tuple[int, Sequence[int]]:
    """The type of the numbers in a ``stablehlo.constant`` of floats, complex ones in parts, and their bits; one if all are equal."""
    value = mlir.attribute(constant, text_of(b"value"))
    kind = mlir.type_of(mlir.result(constant, 0))
    element = mlir.element_type(kind)
    parts = 1
    if mlir.is_complex(element):
        element, parts = mlir.part_type(element), 2
    if value is None or not mlir.is_float(element):
        return element, ()
    width = mlir.float_bits(element) // 8
    if width not in _CODES:
        return element, ()
    sizes = (mlir.size(kind, axis) for axis in range(mlir.rank(kind)))
    count = parts * (1 if mlir.is_splat(value) else math.prod(sizes))
    data = ctypes.string_at(mlir.raw_data(value), width * count) if count else b""
    return element, memoryview(data).cast(_CODES[width])


def _written(write: Callable[[Any], object]) -> str:
    """What is printed into a callback."""
    parts: list[bytes] = []

    def collect(text: Text, _user_data: object) -> None:
        parts.append(ctypes.string_at(text.data, text.length))

    write(Printer(collect))
    return b"".join(parts).decode()
