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


_INDEX, _FLAG = ctypes.c_ssize_t, ctypes.c_bool
_POINTERS, _STATE = ctypes.POINTER(Pointer), ctypes.POINTER(State)


class _Declaration(NamedTuple):
    """A function of MLIR's C interface."""

    symbol: str
    result: Any
    arguments: tuple[Any, ...]


def _c(symbol: str, result: Any, *arguments: Any) -> Any:
    return _Declaration(symbol, result, arguments)


class Mlir:
    """The functions that are used: each declaration of the class is replaced by a function of the library in its object."""

    take_module: Callable[[Any], int] = _c(
        "ireeCompilerInvocationExportStealModule", Pointer, Pointer
    )
    give_module: Callable[[Any, int], bool] = _c(
        "ireeCompilerInvocationImportStealModule", _FLAG, Pointer, Pointer
    )
    region_count: Callable[[int], int] = _c("mlirOperationGetNumRegions", _INDEX, Pointer)
    region: Callable[[int, int], int] = _c("mlirOperationGetRegion", Pointer, Pointer, _INDEX)
    first_block: Callable[[int], int | None] = _c("mlirRegionGetFirstBlock", Pointer, Pointer)
    next_block: Callable[[int], int | None] = _c("mlirBlockGetNextInRegion", Pointer, Pointer)
    first_operation: Callable[[int], int | None] = _c(
        "mlirBlockGetFirstOperation", Pointer, Pointer
    )
    next_operation: Callable[[int], int | None] = _c(
        "mlirOperationGetNextInBlock", Pointer, Pointer
    )
    terminator: Callable[[int], int | None] = _c("mlirBlockGetTerminator", Pointer, Pointer)
    argument_count: Callable[[int], int] = _c("mlirBlockGetNumArguments", _INDEX, Pointer)
    argument: Callable[[int, int], int] = _c("mlirBlockGetArgument", Pointer, Pointer, _INDEX)
    block_of: Callable[[int], int] = _c("mlirOperationGetBlock", Pointer, Pointer)
    name: Callable[[int], int] = _c("mlirOperationGetName", Pointer, Pointer)
    text: Callable[[int], Text] = _c("mlirIdentifierStr", Text, Pointer)
    location: Callable[[int], int] = _c("mlirOperationGetLocation", Pointer, Pointer)
    print_location: Callable[[int, Any, Any], None] = _c(
        "mlirLocationPrint", None, Pointer, Printer, Pointer
    )
    attribute: Callable[[int, Text], int | None] = _c(
        "mlirOperationGetAttributeByName", Pointer, Pointer, Text
    )
    set_attribute: Callable[[int, Text, int], None] = _c(
        "mlirOperationSetAttributeByName", None, Pointer, Text, Pointer
    )
    remove_attribute: Callable[[int, Text], bool] = _c(
        "mlirOperationRemoveAttributeByName", _FLAG, Pointer, Text
    )
    print_attribute: Callable[[int, Any, Any], None] = _c(
        "mlirAttributePrint", None, Pointer, Printer, Pointer
    )
    printing: Callable[[], int] = _c("mlirOpPrintingFlagsCreate", Pointer)
    with_locations: Callable[[int, bool, bool], None] = _c(
        "mlirOpPrintingFlagsEnableDebugInfo", None, Pointer, _FLAG, _FLAG
    )
    end_printing: Callable[[int], None] = _c("mlirOpPrintingFlagsDestroy", None, Pointer)
    print_operation: Callable[[int, int, Any, Any], None] = _c(
        "mlirOperationPrintWithFlags", None, Pointer, Pointer, Printer, Pointer
    )
    stop_at: Callable[[Any, bytes], None] = _c(
        "ireeCompilerInvocationSetCompileToPhase", None, Pointer, ctypes.c_char_p
    )
    go_on_from: Callable[[Any, bytes], None] = _c(
        "ireeCompilerInvocationSetCompileFromPhase", None, Pointer, ctypes.c_char_p
    )
    verify_each_pass: Callable[[Any, bool], None] = _c(
        "ireeCompilerInvocationSetVerifyIR", None, Pointer, _FLAG
    )
    is_well_formed: Callable[[int], bool] = _c("mlirOperationVerify", _FLAG, Pointer)
    is_splat: Callable[[int], bool] = _c("mlirDenseElementsAttrIsSplat", _FLAG, Pointer)
    raw_data: Callable[[int], int] = _c("mlirDenseElementsAttrGetRawData", Pointer, Pointer)
    number_count: Callable[[int], int] = _c("mlirDenseArrayGetNumElements", _INDEX, Pointer)
    number: Callable[[int, int], int] = _c(
        "mlirDenseI64ArrayGetElement", ctypes.c_int64, Pointer, _INDEX
    )
    element: Callable[[int, int], int] = _c("mlirArrayAttrGetElement", Pointer, Pointer, _INDEX)
    element_count: Callable[[int], int] = _c("mlirArrayAttrGetNumElements", _INDEX, Pointer)
    array: Callable[[int, int, Any], int] = _c(
        "mlirArrayAttrGet", Pointer, Pointer, _INDEX, _POINTERS
    )
    string: Callable[[int], Text] = _c("mlirStringAttrGetValue", Text, Pointer)
    symbol: Callable[[int, Text, int, Any], int] = _c(
        "mlirSymbolRefAttrGet", Pointer, Pointer, Text, _INDEX, _POINTERS
    )
    outer_symbol: Callable[[int], Text] = _c("mlirSymbolRefAttrGetRootReference", Text, Pointer)
    inner_symbol_count: Callable[[int], int] = _c(
        "mlirSymbolRefAttrGetNumNestedReferences", _INDEX, Pointer
    )
    inner_symbol: Callable[[int, int], int] = _c(
        "mlirSymbolRefAttrGetNestedReference", Pointer, Pointer, _INDEX
    )
    map_of: Callable[[int], int] = _c("mlirAffineMapAttrGetValue", Pointer, Pointer)
    is_projected_permutation: Callable[[int], bool] = _c(
        "mlirAffineMapIsProjectedPermutation", _FLAG, Pointer
    )
    operand_count: Callable[[int], int] = _c("mlirOperationGetNumOperands", _INDEX, Pointer)
    operand: Callable[[int, int], int] = _c("mlirOperationGetOperand", Pointer, Pointer, _INDEX)
    set_operand: Callable[[int, int, int], None] = _c(
        "mlirOperationSetOperand", None, Pointer, _INDEX, Pointer
    )
    result_count: Callable[[int], int] = _c("mlirOperationGetNumResults", _INDEX, Pointer)
    result: Callable[[int, int], int] = _c("mlirOperationGetResult", Pointer, Pointer, _INDEX)
    successor_count: Callable[[int], int] = _c("mlirOperationGetNumSuccessors", _INDEX, Pointer)
    successor: Callable[[int, int], int] = _c("mlirOperationGetSuccessor", Pointer, Pointer, _INDEX)
    replace: Callable[[int, int], None] = _c(
        "mlirValueReplaceAllUsesOfWith", None, Pointer, Pointer
    )
    is_result: Callable[[int], bool] = _c("mlirValueIsAOpResult", _FLAG, Pointer)
    owner: Callable[[int], int] = _c("mlirOpResultGetOwner", Pointer, Pointer)
    owning_block: Callable[[int], int] = _c("mlirBlockArgumentGetOwner", Pointer, Pointer)
    first_use: Callable[[int], int | None] = _c("mlirValueGetFirstUse", Pointer, Pointer)
    next_use: Callable[[int], int | None] = _c("mlirOpOperandGetNextUse", Pointer, Pointer)
    user: Callable[[int], int] = _c("mlirOpOperandGetOwner", Pointer, Pointer)
    type_of: Callable[[int], int] = _c("mlirValueGetType", Pointer, Pointer)
    is_integer: Callable[[int], bool] = _c("mlirTypeIsAInteger", _FLAG, Pointer)
    is_unsigned: Callable[[int], bool] = _c("mlirIntegerTypeIsUnsigned", _FLAG, Pointer)
    is_float: Callable[[int], bool] = _c("mlirTypeIsAFloat", _FLAG, Pointer)
    is_bfloat16: Callable[[int], bool] = _c("mlirTypeIsABF16", _FLAG, Pointer)
    is_complex: Callable[[int], bool] = _c("mlirTypeIsAComplex", _FLAG, Pointer)
    part_type: Callable[[int], int] = _c("mlirComplexTypeGetElementType", Pointer, Pointer)
    bits: Callable[[int], int] = _c("mlirIntegerTypeGetWidth", ctypes.c_uint, Pointer)
    float_bits: Callable[[int], int] = _c("mlirFloatTypeGetWidth", ctypes.c_uint, Pointer)
    is_array: Callable[[int], bool] = _c("mlirTypeIsARankedTensor", _FLAG, Pointer)
    element_type: Callable[[int], int] = _c("mlirShapedTypeGetElementType", Pointer, Pointer)
    rank: Callable[[int], int] = _c("mlirShapedTypeGetRank", ctypes.c_int64, Pointer)
    size: Callable[[int, int], int] = _c(
        "mlirShapedTypeGetDimSize", ctypes.c_int64, Pointer, _INDEX
    )
    context: Callable[[int], int] = _c("mlirOperationGetContext", Pointer, Pointer)
    identifier: Callable[[int, Text], int] = _c("mlirIdentifierGet", Pointer, Pointer, Text)
    parse_attribute: Callable[[int, Text], int | None] = _c(
        "mlirAttributeParseGet", Pointer, Pointer, Text
    )
    parse_type: Callable[[int, Text], int | None] = _c("mlirTypeParseGet", Pointer, Pointer, Text)
    state: Callable[[Text, int], State] = _c("mlirOperationStateGet", State, Text, Pointer)
    add_results: Callable[[Any, int, Any], None] = _c(
        "mlirOperationStateAddResults", None, _STATE, _INDEX, _POINTERS
    )
    add_operands: Callable[[Any, int, Any], None] = _c(
        "mlirOperationStateAddOperands", None, _STATE, _INDEX, _POINTERS
    )
    add_attributes: Callable[[Any, int, Any], None] = _c(
        "mlirOperationStateAddAttributes", None, _STATE, _INDEX, ctypes.POINTER(NamedAttribute)
    )
    add_regions: Callable[[Any, int, Any], None] = _c(
        "mlirOperationStateAddOwnedRegions", None, _STATE, _INDEX, _POINTERS
    )
    create: Callable[[Any], int] = _c("mlirOperationCreate", Pointer, _STATE)
    clone: Callable[[int], int] = _c("mlirOperationClone", Pointer, Pointer)
    remove: Callable[[int], None] = _c("mlirOperationRemoveFromParent", None, Pointer)
    move_after: Callable[[int, int], None] = _c("mlirOperationMoveAfter", None, Pointer, Pointer)
    new_region: Callable[[], int] = _c("mlirRegionCreate", Pointer)
    new_block: Callable[[int, Any, Any], int] = _c(
        "mlirBlockCreate", Pointer, _INDEX, _POINTERS, _POINTERS
    )
    append_block: Callable[[int, int], None] = _c(
        "mlirRegionAppendOwnedBlock", None, Pointer, Pointer
    )
    append: Callable[[int, int], None] = _c("mlirBlockAppendOwnedOperation", None, Pointer, Pointer)
    print_type: Callable[[int, Any, Any], None] = _c(
        "mlirTypePrint", None, Pointer, Printer, Pointer
    )
    destroy: Callable[[int], None] = _c("mlirOperationDestroy", None, Pointer)
    insert_before: Callable[[int, int, int], None] = _c(
        "mlirBlockInsertOwnedOperationBefore", None, Pointer, Pointer, Pointer
    )
    insert_after: Callable[[int, int, int], None] = _c(
        "mlirBlockInsertOwnedOperationAfter", None, Pointer, Pointer, Pointer
    )

    def __init__(self) -> None:
        library = native.compiler()._dylib
        for name, declared in vars(Mlir).items():
            if isinstance(declared, _Declaration):
                # By index, not by attribute: the binding shares the attribute's object.
                function = library[declared.symbol]
                function.restype, function.argtypes = declared.result, declared.arguments
                setattr(self, name, function)


_mlir = cache(Mlir)


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
