"""MLIR's C interface, as far as workarounds read and rewrite programs between the phases of IREE's compiler.

A handle is a C structure of one pointer and is passed as that pointer. Equal pointers are the same operation, value or type.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from plugjax_iree import native

Pointer = ctypes.c_void_p


class Text(ctypes.Structure):
    """``MlirStringRef``.

    Attributes:
        kept: what owns the memory, if it is ours.
    """

    kept: Any

    _fields_ = (("data", Pointer), ("length", ctypes.c_size_t))


class State(ctypes.Structure):
    """``MlirOperationState``: an operation that is about to be made."""

    _fields_ = (
        ("name", Text),
        ("location", Pointer),
        *(
            field
            for part in ("results", "operands", "regions", "successors", "attributes")
            for field in ((f"{part}_count", ctypes.c_ssize_t), (part, Pointer))
        ),
        ("infer_types", ctypes.c_bool),
    )


class NamedAttribute(ctypes.Structure):
    """``MlirNamedAttribute``."""

    _fields_ = (("name", Pointer), ("attribute", Pointer))


# void callback(text, user_data)
Printer = ctypes.CFUNCTYPE(None, Text, Pointer)


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
    text: Callable[[int], Text]
    location: Callable[[int], int]
    attribute: Callable[[int, Text], int | None]
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
    user: Callable[[int], int]
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
    identifier: Callable[[int, Text], int]
    parse_attribute: Callable[[int, Text], int | None]
    parse_type: Callable[[int, Text], int | None]
    state: Callable[[Text, int], State]
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

    one, many, state = (Pointer,), ctypes.POINTER(Pointer), ctypes.POINTER(State)
    return Mlir(
        c("ireeCompilerInvocationExportStealModule", Pointer, *one),
        c("ireeCompilerInvocationImportStealModule", flag, Pointer, Pointer),
        c("mlirOperationGetNumRegions", index, *one),
        c("mlirOperationGetRegion", Pointer, Pointer, index),
        c("mlirRegionGetFirstBlock", Pointer, *one),
        c("mlirBlockGetNextInRegion", Pointer, *one),
        c("mlirBlockGetFirstOperation", Pointer, *one),
        c("mlirOperationGetNextInBlock", Pointer, *one),
        c("mlirBlockGetTerminator", Pointer, *one),
        c("mlirBlockGetNumArguments", index, *one),
        c("mlirBlockGetArgument", Pointer, Pointer, index),
        c("mlirOperationGetBlock", Pointer, *one),
        c("mlirOperationGetName", Pointer, *one),
        c("mlirIdentifierStr", Text, *one),
        c("mlirOperationGetLocation", Pointer, *one),
        c("mlirOperationGetAttributeByName", Pointer, Pointer, Text),
        c("mlirAttributePrint", nothing, Pointer, Printer, Pointer),
        c("mlirDenseElementsAttrIsSplat", flag, *one),
        c("mlirDenseElementsAttrGetRawData", Pointer, *one),
        c("mlirDenseArrayGetNumElements", index, *one),
        c("mlirDenseI64ArrayGetElement", ctypes.c_int64, Pointer, index),
        c("mlirOperationGetNumOperands", index, *one),
        c("mlirOperationGetOperand", Pointer, Pointer, index),
        c("mlirOperationSetOperand", nothing, Pointer, index, Pointer),
        c("mlirOperationGetNumResults", index, *one),
        c("mlirOperationGetResult", Pointer, Pointer, index),
        c("mlirOperationGetNumSuccessors", index, *one),
        c("mlirOperationGetSuccessor", Pointer, Pointer, index),
        c("mlirValueReplaceAllUsesOfWith", nothing, Pointer, Pointer),
        c("mlirValueIsAOpResult", flag, *one),
        c("mlirOpResultGetOwner", Pointer, *one),
        c("mlirValueGetFirstUse", Pointer, *one),
        c("mlirOpOperandGetNextUse", Pointer, *one),
        c("mlirOpOperandGetOwner", Pointer, *one),
        c("mlirValueGetType", Pointer, *one),
        c("mlirTypeIsAInteger", flag, *one),
        c("mlirIntegerTypeIsUnsigned", flag, *one),
        c("mlirTypeIsAFloat", flag, *one),
        c("mlirTypeIsABF16", flag, *one),
        c("mlirTypeIsAComplex", flag, *one),
        c("mlirComplexTypeGetElementType", Pointer, *one),
        c("mlirIntegerTypeGetWidth", ctypes.c_uint, *one),
        c("mlirFloatTypeGetWidth", ctypes.c_uint, *one),
        c("mlirTypeIsARankedTensor", flag, *one),
        c("mlirShapedTypeGetElementType", Pointer, *one),
        c("mlirShapedTypeGetRank", ctypes.c_int64, *one),
        c("mlirShapedTypeGetDimSize", ctypes.c_int64, Pointer, index),
        c("mlirOperationGetContext", Pointer, *one),
        c("mlirIdentifierGet", Pointer, Pointer, Text),
        c("mlirAttributeParseGet", Pointer, Pointer, Text),
        c("mlirTypeParseGet", Pointer, Pointer, Text),
        c("mlirOperationStateGet", State, Text, Pointer),
        c("mlirOperationStateAddResults", nothing, state, index, many),
        c("mlirOperationStateAddOperands", nothing, state, index, many),
        c("mlirOperationStateAddAttributes", nothing, state, index, ctypes.POINTER(NamedAttribute)),
        c("mlirOperationCreate", Pointer, state),
        c("mlirOperationDestroy", nothing, *one),
        c("mlirBlockInsertOwnedOperationBefore", nothing, Pointer, Pointer, Pointer),
        c("mlirBlockInsertOwnedOperationAfter", nothing, Pointer, Pointer, Pointer),
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


@cache
def text_of(text: bytes) -> Text:
    """A string as MLIR takes it."""
    # The buffer lives as long as the structure, which the cache keeps.
    kept = ctypes.create_string_buffer(text)
    found = Text(ctypes.addressof(kept), len(text))
    found.kept = kept
    return found
