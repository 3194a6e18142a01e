"""A register for each reference that a branch passes on.

IREE 3.13 loses references: where a branch of its virtual machine passes one reference on twice, and one of the two finds itself in the
register that it is to go to, the other one is moved out of that register, which is null from then on ("indirect buffer reference ... is
out range", "ref is null"; iree-org/iree pull request 24781 has the mechanism). Several results of one computation lie in one buffer, so
a loop or branch that hands two of them on does just this, and whether the registers coincide is chance. Between the compiler's last
phase and its bytecode, each repetition is given a copy of the reference (no memory is copied) in a register of its own.
"""

import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from plugjax_iree import native

#: What modules are made with; for cache keys.
FINGERPRINT = "a register for each reference that a branch passes on"

_BRANCHES = (b"vm.br", b"vm.cond_br", b"vm.br_table")
_COPY = ctypes.create_string_buffer(b"vm.assign.ref")

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


class _Mlir(NamedTuple):
    """The functions of MLIR's C interface that are used; handles are structures of one pointer, passed as that pointer."""

    take_module: Callable[[Any], int]
    give_module: Callable[[Any, int], bool]
    first_region: Callable[[int], int | None]
    first_block: Callable[[int], int | None]
    next_block: Callable[[int], int | None]
    first_operation: Callable[[int], int | None]
    next_operation: Callable[[int], int | None]
    terminator: Callable[[int], int | None]
    argument_count: Callable[[int], int]
    name: Callable[[int], int]
    text: Callable[[int], _Text]
    location: Callable[[int], int]
    operand_count: Callable[[int], int]
    operand: Callable[[int, int], int]
    set_operand: Callable[[int, int, int], None]
    successor_count: Callable[[int], int]
    successor: Callable[[int, int], int]
    type_of: Callable[[int], int]
    is_integer: Callable[[int], bool]
    is_float: Callable[[int], bool]
    state: Callable[[_Text, int], _State]
    add_results: Callable[[Any, int, Any], None]
    add_operands: Callable[[Any, int, Any], None]
    create: Callable[[Any], int]
    result: Callable[[int, int], int]
    insert_before: Callable[[int, int, int], None]


@cache
def _mlir() -> _Mlir:
    library = native.compiler()._dylib
    index, flag, nothing = ctypes.c_ssize_t, ctypes.c_bool, None

    def c(name: str, result: Any, *arguments: Any) -> Any:
        function = library[name]  # Not the attribute, which the binding shares.
        function.restype, function.argtypes = result, arguments
        return function

    one, many, state = (_Pointer,), ctypes.POINTER(_Pointer), ctypes.POINTER(_State)
    return _Mlir(
        c("ireeCompilerInvocationExportStealModule", _Pointer, *one),
        c("ireeCompilerInvocationImportStealModule", flag, _Pointer, _Pointer),
        c("mlirOperationGetFirstRegion", _Pointer, *one),
        c("mlirRegionGetFirstBlock", _Pointer, *one),
        c("mlirBlockGetNextInRegion", _Pointer, *one),
        c("mlirBlockGetFirstOperation", _Pointer, *one),
        c("mlirOperationGetNextInBlock", _Pointer, *one),
        c("mlirBlockGetTerminator", _Pointer, *one),
        c("mlirBlockGetNumArguments", index, *one),
        c("mlirOperationGetName", _Pointer, *one),
        c("mlirIdentifierStr", _Text, *one),
        c("mlirOperationGetLocation", _Pointer, *one),
        c("mlirOperationGetNumOperands", index, *one),
        c("mlirOperationGetOperand", _Pointer, _Pointer, index),
        c("mlirOperationSetOperand", nothing, _Pointer, index, _Pointer),
        c("mlirOperationGetNumSuccessors", index, *one),
        c("mlirOperationGetSuccessor", _Pointer, _Pointer, index),
        c("mlirValueGetType", _Pointer, *one),
        c("mlirTypeIsAInteger", flag, *one),
        c("mlirTypeIsAFloat", flag, *one),
        c("mlirOperationStateGet", _State, _Text, _Pointer),
        c("mlirOperationStateAddResults", nothing, state, index, many),
        c("mlirOperationStateAddOperands", nothing, state, index, many),
        c("mlirOperationCreate", _Pointer, state),
        c("mlirOperationGetResult", _Pointer, _Pointer, index),
        c("mlirBlockInsertOwnedOperationBefore", nothing, _Pointer, _Pointer, _Pointer),
    )


def separate_repeated_references(invocation: Any) -> int:
    """Mends the module that an invocation compiled and has not written yet; returns how many copies it took.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), after its pipeline.
    """
    mlir = _mlir()
    module = mlir.take_module(invocation)
    copies = 0
    try:
        for unit in _operations(mlir, module):
            for function in _operations(mlir, unit):
                for block in _blocks(mlir, function):
                    copies += _separate(mlir, block)
    finally:
        mlir.give_module(invocation, module)
    return copies


def _separate(mlir: _Mlir, block: int) -> int:
    """Mends the branch that ends a block."""
    branch = mlir.terminator(block)
    if branch is None or not (successors := mlir.successor_count(branch)):
        return 0
    name = mlir.text(mlir.name(branch))
    if ctypes.string_at(name.data, name.length) not in _BRANCHES:
        return 0
    counts = [mlir.argument_count(mlir.successor(branch, i)) for i in range(successors)]
    # A condition, if there is one, stands before what is passed on.
    position = mlir.operand_count(branch) - sum(counts)
    copies = 0
    for count in counts:
        seen = set()
        for i in range(position, position + count):
            value = mlir.operand(branch, i)
            if value not in seen:
                seen.add(value)
            elif _is_reference(mlir, value):
                mlir.set_operand(branch, i, _copy(mlir, block, branch, value))
                copies += 1
        position += count
    return copies


def _copy(mlir: _Mlir, block: int, branch: int, value: int) -> int:
    """The reference in another register, before the branch."""
    state = mlir.state(_Text(ctypes.addressof(_COPY), len(_COPY.value)), mlir.location(branch))
    mlir.add_results(ctypes.byref(state), 1, (_Pointer * 1)(mlir.type_of(value)))
    mlir.add_operands(ctypes.byref(state), 1, (_Pointer * 1)(value))
    operation = mlir.create(ctypes.byref(state))
    mlir.insert_before(block, branch, operation)
    return mlir.result(operation, 0)


def _is_reference(mlir: _Mlir, value: int) -> bool:
    kind = mlir.type_of(value)
    return not (mlir.is_integer(kind) or mlir.is_float(kind))


def _operations(mlir: _Mlir, parent: int) -> Iterator[int]:
    for block in _blocks(mlir, parent):
        operation = mlir.first_operation(block)
        while operation is not None:
            yield operation
            operation = mlir.next_operation(operation)


def _blocks(mlir: _Mlir, parent: int) -> Iterator[int]:
    region = mlir.first_region(parent)
    block = None if region is None else mlir.first_block(region)
    while block is not None:
        yield block
        block = mlir.next_block(block)
