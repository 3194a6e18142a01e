"""MLIR's C interface, as far as programs are read and mended between the phases of IREE's compiler.

Handles are structures of one pointer, and passed as that pointer; equal pointers are the same operation, value or type.
"""

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from plugjax_iree import native

__all__ = [
    "BARRIER",
    "MOVES",
    "PROGRAMS",
    "Mlir",
    "bar",
    "bar_operand",
    "blocks",
    "borrowed",
    "choose",
    "constant",
    "copy_operand",
    "create",
    "in_block",
    "is_zero",
    "maker",
    "name_of",
    "numbers",
    "operands",
    "operations",
    "printed",
    "readers",
    "size_of",
    "walk",
    "words",
    "write_number",
]

#: What has programs in its regions.
PROGRAMS = (b"func.func", b"stablehlo.while", b"stablehlo.if", b"stablehlo.case")

BARRIER = b"stablehlo.optimization_barrier"

#: What puts elements elsewhere, and computes nothing.
MOVES = (
    b"stablehlo.broadcast_in_dim",
    b"stablehlo.pad",
    b"stablehlo.reshape",
    b"stablehlo.reverse",
    b"stablehlo.transpose",
)

_Pointer = ctypes.c_void_p


class _Text(ctypes.Structure):
    """``MlirStringRef``."""

    _fields_ = (("data", _Pointer), ("length", ctypes.c_size_t))


class _State(ctypes.Structure):
    """``MlirOperationState``: an operation that is about to be made."""

    _fields_ = (
        ("name", _Text),
        ("location", _Pointer),
        *(
            field
            for part in ("results", "operands", "regions", "successors", "attributes")
            for field in ((f"{part}_count", ctypes.c_ssize_t), (part, _Pointer))
        ),
        ("infer_types", ctypes.c_bool),
    )


class _Named(ctypes.Structure):
    """``MlirNamedAttribute``."""

    _fields_ = (("name", _Pointer), ("attribute", _Pointer))


# void callback(text, user_data)
_Printer = ctypes.CFUNCTYPE(None, _Text, _Pointer)


class Mlir(NamedTuple):
    """The functions that are used."""

    take_module: Callable[[Any], int]
    give_module: Callable[[Any, int], bool]
    region_count: Callable[[int], int]
    region: Callable[[int, int], int]
    first_block: Callable[[int], int | None]
    next_block: Callable[[int], int | None]
    first_operation: Callable[[int], int | None]
    next_operation: Callable[[int], int | None]
    terminator: Callable[[int], int | None]
    argument_count: Callable[[int], int]
    argument: Callable[[int, int], int]
    block_of: Callable[[int], int]
    name: Callable[[int], int]
    text: Callable[[int], _Text]
    location: Callable[[int], int]
    attribute: Callable[[int, _Text], int | None]
    print_attribute: Callable[[int, Any, Any], None]
    is_splat: Callable[[int], bool]
    raw_data: Callable[[int], int]
    number_count: Callable[[int], int]
    number: Callable[[int, int], int]
    operand_count: Callable[[int], int]
    operand: Callable[[int, int], int]
    set_operand: Callable[[int, int, int], None]
    result_count: Callable[[int], int]
    result: Callable[[int, int], int]
    successor_count: Callable[[int], int]
    successor: Callable[[int, int], int]
    replace: Callable[[int, int], None]
    is_result: Callable[[int], bool]
    owner: Callable[[int], int]
    first_use: Callable[[int], int | None]
    next_use: Callable[[int], int | None]
    reader: Callable[[int], int]
    type_of: Callable[[int], int]
    is_integer: Callable[[int], bool]
    is_unsigned: Callable[[int], bool]
    is_float: Callable[[int], bool]
    is_bfloat16: Callable[[int], bool]
    is_complex: Callable[[int], bool]
    part_type: Callable[[int], int]
    bits: Callable[[int], int]
    float_bits: Callable[[int], int]
    is_array: Callable[[int], bool]
    element_type: Callable[[int], int]
    rank: Callable[[int], int]
    size: Callable[[int, int], int]
    context: Callable[[int], int]
    identifier: Callable[[int, _Text], int]
    parse_attribute: Callable[[int, _Text], int | None]
    parse_type: Callable[[int, _Text], int | None]
    state: Callable[[_Text, int], _State]
    add_results: Callable[[Any, int, Any], None]
    add_operands: Callable[[Any, int, Any], None]
    add_attributes: Callable[[Any, int, Any], None]
    create: Callable[[Any], int]
    destroy: Callable[[int], None]
    insert_before: Callable[[int, int, int], None]
    insert_after: Callable[[int, int, int], None]


@cache
def _mlir() -> Mlir:
    library = native.compiler()._dylib
    index, flag, nothing = ctypes.c_ssize_t, ctypes.c_bool, None

    def c(name: str, result: Any, *arguments: Any) -> Any:
        function = library[name]  # Not the attribute, which the binding shares.
        function.restype, function.argtypes = result, arguments
        return function

    one, many, state = (_Pointer,), ctypes.POINTER(_Pointer), ctypes.POINTER(_State)
    return Mlir(
        c("ireeCompilerInvocationExportStealModule", _Pointer, *one),
        c("ireeCompilerInvocationImportStealModule", flag, _Pointer, _Pointer),
        c("mlirOperationGetNumRegions", index, *one),
        c("mlirOperationGetRegion", _Pointer, _Pointer, index),
        c("mlirRegionGetFirstBlock", _Pointer, *one),
        c("mlirBlockGetNextInRegion", _Pointer, *one),
        c("mlirBlockGetFirstOperation", _Pointer, *one),
        c("mlirOperationGetNextInBlock", _Pointer, *one),
        c("mlirBlockGetTerminator", _Pointer, *one),
        c("mlirBlockGetNumArguments", index, *one),
        c("mlirBlockGetArgument", _Pointer, _Pointer, index),
        c("mlirOperationGetBlock", _Pointer, *one),
        c("mlirOperationGetName", _Pointer, *one),
        c("mlirIdentifierStr", _Text, *one),
        c("mlirOperationGetLocation", _Pointer, *one),
        c("mlirOperationGetAttributeByName", _Pointer, _Pointer, _Text),
        c("mlirAttributePrint", nothing, _Pointer, _Printer, _Pointer),
        c("mlirDenseElementsAttrIsSplat", flag, *one),
        c("mlirDenseElementsAttrGetRawData", _Pointer, *one),
        c("mlirDenseArrayGetNumElements", index, *one),
        c("mlirDenseI64ArrayGetElement", ctypes.c_int64, _Pointer, index),
        c("mlirOperationGetNumOperands", index, *one),
        c("mlirOperationGetOperand", _Pointer, _Pointer, index),
        c("mlirOperationSetOperand", nothing, _Pointer, index, _Pointer),
        c("mlirOperationGetNumResults", index, *one),
        c("mlirOperationGetResult", _Pointer, _Pointer, index),
        c("mlirOperationGetNumSuccessors", index, *one),
        c("mlirOperationGetSuccessor", _Pointer, _Pointer, index),
        c("mlirValueReplaceAllUsesOfWith", nothing, _Pointer, _Pointer),
        c("mlirValueIsAOpResult", flag, *one),
        c("mlirOpResultGetOwner", _Pointer, *one),
        c("mlirValueGetFirstUse", _Pointer, *one),
        c("mlirOpOperandGetNextUse", _Pointer, *one),
        c("mlirOpOperandGetOwner", _Pointer, *one),
        c("mlirValueGetType", _Pointer, *one),
        c("mlirTypeIsAInteger", flag, *one),
        c("mlirIntegerTypeIsUnsigned", flag, *one),
        c("mlirTypeIsAFloat", flag, *one),
        c("mlirTypeIsABF16", flag, *one),
        c("mlirTypeIsAComplex", flag, *one),
        c("mlirComplexTypeGetElementType", _Pointer, *one),
        c("mlirIntegerTypeGetWidth", ctypes.c_uint, *one),
        c("mlirFloatTypeGetWidth", ctypes.c_uint, *one),
        c("mlirTypeIsARankedTensor", flag, *one),
        c("mlirShapedTypeGetElementType", _Pointer, *one),
        c("mlirShapedTypeGetRank", ctypes.c_int64, *one),
        c("mlirShapedTypeGetDimSize", ctypes.c_int64, _Pointer, index),
        c("mlirOperationGetContext", _Pointer, *one),
        c("mlirIdentifierGet", _Pointer, _Pointer, _Text),
        c("mlirAttributeParseGet", _Pointer, _Pointer, _Text),
        c("mlirTypeParseGet", _Pointer, _Pointer, _Text),
        c("mlirOperationStateGet", _State, _Text, _Pointer),
        c("mlirOperationStateAddResults", nothing, state, index, many),
        c("mlirOperationStateAddOperands", nothing, state, index, many),
        c("mlirOperationStateAddAttributes", nothing, state, index, ctypes.POINTER(_Named)),
        c("mlirOperationCreate", _Pointer, state),
        c("mlirOperationDestroy", nothing, *one),
        c("mlirBlockInsertOwnedOperationBefore", nothing, _Pointer, _Pointer, _Pointer),
        c("mlirBlockInsertOwnedOperationAfter", nothing, _Pointer, _Pointer, _Pointer),
    )


@contextmanager
def borrowed(invocation: Any) -> Iterator[tuple[Mlir, int]]:
    """The interface, and the module of an invocation, which gets it back.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), between two phases.
    """
    mlir = _mlir()
    module = mlir.take_module(invocation)
    try:
        yield mlir, module
    finally:
        mlir.give_module(invocation, module)


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
    """The operations of a StableHLO program, each before those of its regions; what reductions and the like apply is left out."""
    for operation in operations(mlir, program):
        yield operation
        if name_of(mlir, operation) in PROGRAMS:
            yield from walk(mlir, operation)


def name_of(mlir: Mlir, operation: int) -> bytes:
    """Its dialect and name: ``b"stablehlo.add"``."""
    name = mlir.text(mlir.name(operation))
    return ctypes.string_at(name.data, name.length)


def operands(mlir: Mlir, operation: int) -> list[int]:
    """The values it reads."""
    return [mlir.operand(operation, i) for i in range(mlir.operand_count(operation))]


def maker(mlir: Mlir, value: int) -> int | None:
    """The operation that gives a value; ``None`` for arguments."""
    return mlir.owner(value) if mlir.is_result(value) else None


def readers(mlir: Mlir, value: int) -> list[int]:
    """The operations that read a value, as often as they do."""
    found = []
    use = mlir.first_use(value)
    while use is not None:
        found.append(mlir.reader(use))
        use = mlir.next_use(use)
    return found


def numbers(mlir: Mlir, operation: int, attribute: bytes) -> list[int]:
    """An attribute that is an array of 64-bit integers.

    Raises:
        KeyError: the operation does not have it.
    """
    found = mlir.attribute(operation, _text(attribute))
    if found is None:
        raise KeyError(attribute.decode())
    return [mlir.number(found, i) for i in range(mlir.number_count(found))]


def create(
    mlir: Mlir,
    name: bytes,
    location: int,
    types: Sequence[int],
    values: Sequence[int],
    attributes: Sequence[tuple[int, int]] = (),
) -> int:
    """An operation without regions, which is in no block yet; names of attributes are identifiers."""
    state = mlir.state(_text(name), location)
    mlir.add_results(ctypes.byref(state), len(types), (_Pointer * len(types))(*types))
    mlir.add_operands(ctypes.byref(state), len(values), (_Pointer * len(values))(*values))
    if attributes:
        named = (_Named * len(attributes))(*(_Named(*pair) for pair in attributes))
        mlir.add_attributes(ctypes.byref(state), len(attributes), named)
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
    kind = mlir.parse_type(context, _text(shape.encode()))
    elements = mlir.parse_attribute(context, _text(f"dense<{value}> : {shape}".encode()))
    assert kind is not None
    assert elements is not None
    named = [(mlir.identifier(context, _text(b"value")), elements)]
    return _written(mlir, b"stablehlo.constant", before, kind, [], named)


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
    sizes = [mlir.size(kind, axis) for axis in range(mlir.rank(kind))]
    # Of the shape of the values: a scalar would be read back to the host.
    known = constant(mlir, loop, "true", f"tensor<{'x'.join([*map(str, sizes), 'i1'])}>")
    unknown = _written(mlir, BARRIER, loop, mlir.type_of(known), [known])
    return _written(mlir, b"stablehlo.select", end, kind, [unknown, one, other])


def copy_operand(mlir: Mlir, operation: int, index: int, value: int) -> int:
    """Lets an operation read, for one of its operands, a value from a buffer of its own; returns that copy."""
    again = _written(mlir, BARRIER, operation, mlir.type_of(value), [value])
    copy = choose(mlir, operation, operation, value, again)
    mlir.set_operand(operation, index, copy)
    return copy


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


def bar(mlir: Mlir, operation: int, value: int) -> None:
    """Lets all readers of a result of an operation of StableHLO read it behind a barrier."""
    kind = mlir.type_of(value)
    barrier = create(mlir, BARRIER, mlir.location(operation), [kind], [value])
    mlir.insert_after(mlir.block_of(operation), operation, barrier)
    mlir.replace(value, mlir.result(barrier, 0))
    mlir.set_operand(barrier, 0, value)


def bar_operand(mlir: Mlir, operation: int, index: int) -> None:
    """Lets an operation, and no other, read one of its operands behind a barrier."""
    value = mlir.operand(operation, index)
    barrier = create(mlir, BARRIER, mlir.location(operation), [mlir.type_of(value)], [value])
    mlir.insert_before(mlir.block_of(operation), operation, barrier)
    mlir.set_operand(operation, index, mlir.result(barrier, 0))


def size_of(mlir: Mlir, value: int) -> int:
    """How many elements an array has."""
    kind = mlir.type_of(value)
    return math.prod(mlir.size(kind, axis) for axis in range(mlir.rank(kind)))


def is_zero(mlir: Mlir, constant: int) -> bool:
    """Whether all elements of a ``stablehlo.constant`` are 0 (and not -0); ``False`` for complex ones."""
    value = mlir.attribute(constant, _text(b"value"))
    element = mlir.element_type(mlir.type_of(mlir.result(constant, 0)))
    if value is None or not mlir.is_splat(value) or mlir.is_complex(element):
        return False
    bits = mlir.float_bits(element) if mlir.is_float(element) else mlir.bits(element)
    return not any(ctypes.string_at(mlir.raw_data(value), (bits + 7) // 8))


def printed(mlir: Mlir, operation: int, name: bytes) -> str:
    """An attribute as MLIR writes it; empty if there is none."""
    attribute = mlir.attribute(operation, _text(name))
    parts: list[bytes] = []

    def collect(text: _Text, _user_data: object) -> None:
        parts.append(ctypes.string_at(text.data, text.length))

    if attribute is not None:
        mlir.print_attribute(attribute, _Printer(collect), None)
    return b"".join(parts).decode()


def words(mlir: Mlir, constant: int) -> tuple[int, Sequence[int]]:
    """The type of the numbers in a ``stablehlo.constant`` of floats, complex ones in parts, and their bits; one if all are equal."""
    value = mlir.attribute(constant, _text(b"value"))
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


_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


@cache
def _text(text: bytes) -> _Text:
    # The buffer lives as long as the structure, which the cache keeps.
    kept = ctypes.create_string_buffer(text)
    found = _Text(ctypes.addressof(kept), len(text))
    found._kept = kept  # type: ignore[attr-defined]  # structures take attributes
    return found
