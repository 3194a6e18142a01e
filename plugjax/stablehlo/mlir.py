"""MLIR for lowering rules: contexts, types, attributes, constants and operations.

No other module of this package imports jaxlib's bindings. Operations are made by ``ir.Operation.create``: the generated
builders cost two to three times as much. Types and attributes are made once per context. A context belongs to one
thread and serves many modules. Constants live as long as their context, so it is replaced when they take too much
memory.

While a module is lowered, its context, an unknown location and an insertion point are current in jaxlib's own sense, so
a rule may use the builders in ``jaxlib.mlir.dialects`` as well.
"""

from __future__ import annotations

import importlib
import io
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol, TypeAlias

# The variable is read once, when the C++ library loads. Without it each client logs a paragraph to
# stderr.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

# Import before `ir`: the package patches the classes of `ir` while it loads. If another thread
# imported jax at that moment, jax would subclass the unpatched classes.
import jaxlib.mlir._mlir_libs  # noqa: F401  # for its effect on what is imported below
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, sdy, stablehlo

from plugjax.extend.core import ShapedArray, Source
from plugjax.extend.dtypes import INT32, DType, float0
from plugjax.extend.errors import LoweringError

# jaxlib ships no type stubs.
Value: TypeAlias = Any
Type: TypeAlias = Any
Attribute: TypeAlias = Any
Operation: TypeAlias = Any
Block: TypeAlias = Any
Module: TypeAlias = Any

_CONSTANT_BYTES = 32 << 20
# Elements of a constant that may stand in a module several times.
_SMALL = 64
_MODULES = 1000

# MLIR's own dialects, to which contexts add those of XLA.
upstream_dialects = ir.DialectRegistry()
_jax_mlir_ext.register_dialects(upstream_dialects)

_FLOATS = {"bfloat16": "bf16", "complex64": "complex<f32>", "complex128": "complex<f64>"}


class SymbolicSizes(Protocol):
    """What writes operations with sizes that are not known, while a module with such sizes is lowered."""

    def operation(
        self,
        name: str,
        result_types: Sequence[Type],
        operands: Sequence[Value],
        attributes: dict[str, Attribute] | None,
        regions: int,
    ) -> Operation:
        """The operation, with sizes as operands."""

    def scalar(self, size: Any) -> Value:
        """A size as an ``i32``."""

    def vector(self, sizes: Sequence[Any]) -> Value:
        """Sizes as a vector of ``i32``."""


class SizedType(NamedTuple):
    """A tensor type of which some sizes are expressions; ``plain`` is MLIR's, which lacks them."""

    plain: Type
    shape: Sequence[Any]


class SizedNumbers(NamedTuple):
    """What would be an attribute if all its numbers were known: a vector, or a matrix row by row."""

    numbers: Sequence[Any]


class JaxIrContext(ir.Context):
    """The context that modules are made in; its class tells it from those that others make."""


class Session:
    """A context, with the types and attributes made in it."""

    __slots__ = (
        "attributes", "constant_bytes", "context", "location", "modules", "open", "scalars", "symbolic", "tensors",
        "texts",
    )  # fmt: skip

    def __init__(self) -> None:
        self.context = JaxIrContext()
        self.context.append_dialect_registry(upstream_dialects)
        for dialect in (stablehlo, chlo, sdy):
            dialect.register_dialect(self.context)
        _ = self.context.dialects["func"]  # Loads the dialect.
        # Backends have operations of their own dialects.
        self.context.allow_unregistered_dialects = True
        # One thread builds a module; a thread pool per context would only wait.
        self.context.enable_multithreading(False)
        self.location = ir.Location.unknown(self.context)
        self.tensors: dict[ShapedArray, Type] = {}
        self.scalars: dict[DType, Type] = {}
        self.attributes: dict[Any, Attribute] = {}
        self.texts: dict[str, Attribute] = {}
        self.constant_bytes = 0
        self.modules = 0
        self.open = 0
        self.symbolic: SymbolicSizes | None = None


class _Local(threading.local):
    session: Session | None = None


_local = _Local()


@contextmanager
def new_module(name: str) -> Iterator[Module]:
    """A module that operations may be added to within the ``with`` block."""
    current = _local.session
    full = current is None or (
        current.constant_bytes > _CONSTANT_BYTES or current.modules >= _MODULES
    )
    # A module within a module has the types of the outer one.
    if current is None or (full and not current.open):
        current = _local.session = Session()
    current.modules += 1
    current.open += 1
    try:
        with current.context, current.location:
            module = ir.Module.create()
            module.operation.attributes["sym_name"] = string(name)
            yield module
    finally:
        current.open -= 1


@contextmanager
def own_session() -> Iterator[None]:
    """Within the block modules are made in a context of their own: another one's is in use by a compiler that called us."""
    outer, _local.session = _local.session, None
    try:
        yield
    finally:
        _local.session = outer


def session() -> Session:
    """The session of the module that this thread is building."""
    found = _local.session
    if found is None:
        raise RuntimeError("plugjax.stablehlo: MLIR is made only while a module is being lowered")
    return found


def named_location(name: str, source: Source | None) -> Any:
    """Context manager: operations are marked with a name and the user's line."""
    if source is None:
        return ir.Location.name(name)
    return ir.Location.name(name, ir.Location.file(source.file, source.line, 0))


def at_end(block: Block) -> Any:
    """Context manager: operations go to the end of ``block``."""
    return ir.InsertionPoint(block)


def at_start(block: Block) -> Any:
    """Context manager: operations go to the start of ``block``."""
    return ir.InsertionPoint.at_block_begin(block)


def before(operation: Operation) -> Any:
    """Context manager: operations go before another one."""
    return ir.InsertionPoint(operation)


def op(
    name: str,
    result_types: Sequence[Type],
    operands: Sequence[Value],
    attributes: dict[str, Attribute] | None = None,
    regions: int = 0,
) -> Operation:
    """An operation at the current insertion point, of any registered dialect.

    Args:
        name: of the operation, such as ``"stablehlo.add"``.
        result_types: one type per result.
        operands: values.
        attributes: by name.
        regions: number of regions, empty at first; :func:`add_block` fills them.
    """
    try:
        return ir.Operation.create(name, result_types, operands, attributes, None, regions)
    except TypeError:
        # MLIR takes neither types nor attributes with sizes that are expressions.
        symbolic = session().symbolic
        if symbolic is None:
            raise
        return symbolic.operation(name, result_types, operands, attributes, regions)


def value(
    name: str,
    aval: ShapedArray,
    operands: Sequence[Value],
    attributes: dict[str, Attribute] | None = None,
) -> Value:
    """The result of an operation that has one, of type ``aval``."""
    return op(name, [type_of(aval)], operands, attributes).result


def is_symbolic(size: Any) -> bool:
    """Whether a size is an expression."""
    return getattr(type(size), "symbolic_size", False)


def has_symbols(sizes: Sequence[Any]) -> bool:
    """Whether a size among these is an expression."""
    return any(map(is_symbolic, sizes))


def _sizes() -> SymbolicSizes:
    found = session().symbolic
    if found is None:
        raise LoweringError(
            "a size is an expression, and only export lowers programs with such sizes."
        )
    return found


def size(number: Any, dtype: DType) -> Value:
    """A size as a scalar of an integer dtype."""
    if not is_symbolic(number):
        return constant(np.asarray(number, dtype))
    found = _sizes().scalar(number)
    if dtype == INT32:
        return found
    return op("stablehlo.convert", [tensor((), dtype)], [found]).result


def token_type() -> Type:
    """The type of tokens."""
    return ir.Type.parse("!stablehlo.token", session().context)


def sizes(numbers: Sequence[Any], dtype: DType) -> Value:
    """Sizes as a vector of an integer dtype."""
    if not has_symbols(numbers):
        return constant(np.asarray(numbers, dtype))
    found = _sizes().vector(numbers)
    if dtype == INT32:
        return found
    return op("stablehlo.convert", [tensor((len(numbers),), dtype)], [found]).result


def plain(types: Sequence[Type]) -> list[Type]:
    """Types as MLIR has them."""
    return [t.plain if type(t) is SizedType else t for t in types]


def add_block(region: Any, types: Sequence[Type]) -> Block:
    """A new block at the end of a region, with one argument per type."""
    types = plain(types)
    return region.blocks.append(*types, arg_locs=[session().location] * len(types))


def fill_region(region: Any, types: Sequence[Type], body: Callable[..., Sequence[Value]]) -> None:
    """Write a region of one block: ``body`` maps its arguments to the values that it returns."""
    block = add_block(region, types)
    with ir.InsertionPoint(block):
        op("stablehlo.return", [], body(*block.arguments))


def element_type(dtype: DType) -> Type:
    """The type of one element."""
    types = session().scalars
    found = types.get(dtype)
    if found is None:
        found = types[dtype] = ir.Type.parse(_element_text(dtype))
    return found


def _element_text(dtype: DType) -> str:
    name = str(dtype.name)
    if name == "bool" or dtype == float0:
        # Tangents of integers carry no information, but have a shape.
        return "i1"
    if name in _FLOATS:
        return _FLOATS[name]
    for prefix in ("float8_", "float4_"):
        if name.startswith(prefix):
            return f"f{prefix[5]}{name.removeprefix(prefix).upper()}"
    for long, short in (("float", "f"), ("uint", "ui"), ("int", "i")):
        if name.startswith(long):
            return short + name.removeprefix(long)
    raise TypeError(f"StableHLO has no element type for dtype {name}.")


def type_of(aval: ShapedArray) -> Type:
    """The tensor type of an aval."""
    types = session().tensors
    found = types.get(aval)
    if found is None:
        shape, element = list(aval.shape), element_type(aval.dtype)
        if has_symbols(shape):
            unknown = ir.ShapedType.get_dynamic_size()
            dynamic = ir.RankedTensorType.get(
                [unknown if is_symbolic(d) else d for d in shape], element
            )
            found = types[aval] = SizedType(dynamic, aval.shape)
        else:
            found = types[aval] = ir.RankedTensorType.get(shape, element)
    return found


def tensor(shape: Sequence[int], dtype: DType) -> Type:
    """The tensor type of a shape and dtype."""
    return type_of(ShapedArray(shape, dtype))


def constant(array: np.ndarray[Any, Any] | np.generic, shape: Sequence[int] | None = None) -> Value:
    """A constant; ``shape`` repeats a scalar. An array of equal elements is stored as a splat."""
    if shape is not None and has_symbols(shape):
        scalar = constant(np.asarray(array))
        return broadcast(scalar, ShapedArray((), array.dtype), ShapedArray(shape, array.dtype))
    return constant_of(elements(array, shape))


def constant_of(values: Attribute) -> Value:
    """The constant with these elements."""
    return ir.Operation.create("stablehlo.constant", [values.type], [], {"value": values}).result


def small_array(value: Value) -> Attribute | None:
    """The elements of a constant of some axes and few elements that are not complex; ``None`` for other values."""
    made_by = value.owner
    if isinstance(made_by, ir.Block) or made_by.name != "stablehlo.constant":
        return None
    kind = value.type
    # jaxlib's bindings do not read complex elements.
    small = (
        kind.shape
        and math.prod(kind.shape) <= _SMALL
        and not isinstance(kind.element_type, ir.ComplexType)
    )
    return made_by.attributes["value"] if small else None


def known_integers(value: Value) -> np.ndarray[Any, Any] | None:
    """The elements of a constant of integers, or of one that is repeated; ``None`` for other values."""
    made_by = value.owner
    if isinstance(made_by, ir.Block):
        return None
    if made_by.name == "stablehlo.broadcast_in_dim" and value.type.has_static_shape:
        repeated = known_integers(made_by.operands[0])
        if repeated is None or repeated.size != 1:
            return None
        return np.broadcast_to(repeated.reshape(()), value.type.shape)
    if made_by.name != "stablehlo.constant":
        return None
    found = made_by.attributes["value"]
    return np.array(found) if isinstance(found, ir.DenseIntElementsAttr) else None


def broadcast(operand: Value, aval_from: ShapedArray, aval_to: ShapedArray) -> Value:
    """Stretch a scalar, or axes of size 1 of an operand of equal rank, to another shape."""
    if aval_from.shape == aval_to.shape:
        return operand
    dims = i64s(range(aval_to.ndim) if aval_from.shape else ())
    result = tensor(aval_to.shape, aval_from.dtype)
    return op(
        "stablehlo.broadcast_in_dim", [result], [operand], {"broadcast_dimensions": dims}
    ).result


def static_slice(
    operand: Value,
    aval_out: ShapedArray,
    start: Sequence[int],
    limit: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Value:
    """The elements of an operand between constant bounds."""
    attributes = {
        "start_indices": i64s(start),
        "limit_indices": i64s(limit),
        "strides": i64s(strides or (1,) * len(start)),
    }
    return value("stablehlo.slice", aval_out, [operand], attributes)


def elements(
    array: np.ndarray[Any, Any] | np.generic, shape: Sequence[int] | None = None
) -> Attribute:
    """The attribute that holds the elements of an array."""
    array = np.asarray(array)
    if array.dtype == float0:
        array = np.zeros(array.shape, np.bool_)
    if shape is None:
        shape = array.shape
        if array.size > 1 and _is_uniform(array):
            array = array.reshape(-1)[:1]
    found = session()
    if array.size == 1:
        key = (array.dtype, array.tobytes(), tuple(shape))
        attribute = found.attributes.get(key)
        if attribute is None:
            attribute = found.attributes[key] = _dense(array, shape)
        return attribute
    found.constant_bytes += array.nbytes
    return _dense(array, shape)


def _dense(array: np.ndarray[Any, Any], shape: Sequence[int]) -> Attribute:
    # MLIR reads raw bytes whose length is one element's as a splat. NumPy describes dtypes of
    # ml_dtypes as void.
    raw = np.ascontiguousarray(array)
    if raw.dtype.kind not in "iufc":
        raw = raw.view(f"u{raw.dtype.itemsize}")
    buffer: Any = raw
    return ir.DenseElementsAttr.get(buffer, type=element_type(array.dtype), shape=list(shape))


def _is_uniform(array: np.ndarray[Any, Any]) -> bool:
    # Compare bits, not values: 0.0 equals -0.0, and nan does not equal nan.
    flat = np.ascontiguousarray(array).reshape(-1)
    bits = flat.view(np.uint8).reshape(flat.size, -1)
    return bool((bits == bits[0]).all())


def attribute(text: str) -> Attribute:
    """An attribute from its text, such as ``"#stablehlo<comparison_direction LT>"``."""
    texts = session().texts
    found = texts.get(text)
    if found is None:
        found = texts[text] = ir.Attribute.parse(text)
    return found


def manual_axes(names: Iterable[str]) -> Attribute:
    """Axes of a mesh along which a region is the program of one device."""
    return sdy.ManualAxesAttr.get([ir.StringAttr.get(name) for name in names])


def i64(number: int) -> Attribute:
    """A 64-bit integer attribute."""
    if is_symbolic(number):
        return SizedNumbers((number,))
    return attribute(f"{number} : i64")


def i64s(numbers: Sequence[int]) -> Attribute:
    """An attribute that is an array of 64-bit integers."""
    key = (i64s, *numbers)
    found = session().attributes.get(key)
    if found is None:
        if has_symbols(numbers):
            return SizedNumbers(tuple(numbers))
        found = session().attributes[key] = ir.DenseI64ArrayAttr.get([int(n) for n in numbers])
    return found


def pairs(numbers: Sequence[Sequence[int]]) -> Attribute:
    """An attribute that is a matrix of 64-bit integers with two columns, as paddings are."""
    flat = [number for pair in numbers for number in pair]
    if has_symbols(flat):
        return SizedNumbers(tuple(flat))
    return elements(np.asarray(flat, np.int64).reshape(-1, 2))


def numbers_of(dense: Attribute) -> list[int]:
    """The integers of a matrix that is an attribute, row by row."""
    return [int(n) for n in np.asarray(ir.DenseIntElementsAttr(dense)).reshape(-1)]


def boolean(flag: bool) -> Attribute:
    """A boolean attribute."""
    return attribute("true" if flag else "false")


def floating(number: float) -> Attribute:
    """A 64-bit floating attribute."""
    return ir.FloatAttr.get_f64(number)


def number(value: Any) -> Attribute:
    """A NumPy scalar as an attribute of its dtype.

    Raises:
        TypeError: the dtype is neither of integers nor of floating numbers.
    """
    kind = element_type(value.dtype)
    if isinstance(kind, ir.IntegerType):
        return ir.IntegerAttr.get(kind, int(value))
    if isinstance(kind, ir.FloatType):
        return ir.FloatAttr.get(kind, float(value))
    raise TypeError(f"Unsupported scalar attribute type: {type(value)}.")


def is_attribute(value: Any) -> bool:
    """Whether a value is an attribute, or a type, which stands for one."""
    return isinstance(value, (ir.Attribute, ir.Type))


def entries(attribute: Attribute) -> dict[str, Attribute]:
    """The entries of a dictionary attribute."""
    found = ir.DictAttr(attribute)
    # Iterating yields names or pairs, depending on the version; indexing is stable.
    named = [found[position] for position in range(len(found))]
    return {each.name: each.attr for each in named}


def defining(value: Value) -> Operation | None:
    """The operation that gives a value, ``None`` of an argument of a block."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else getattr(owner, "operation", owner)


def type_attribute(dtype: DType) -> Attribute:
    """An element type as an attribute."""
    return ir.TypeAttr.get(element_type(dtype))


def string(text: str | bytes) -> Attribute:
    """A string attribute."""
    return ir.StringAttr.get(text)


def symbol(name: str) -> Attribute:
    """A reference to a function."""
    return ir.FlatSymbolRefAttr.get(name)


def array(items: Sequence[Attribute]) -> Attribute:
    """An attribute that is an array of attributes."""
    return ir.ArrayAttr.get(list(items))


def dictionary(items: dict[str, Attribute]) -> Attribute:
    """An attribute that is a dictionary of attributes."""
    return ir.DictAttr.get(items)


def add_function(
    module: Module,
    name: str,
    argument_types: Sequence[Type],
    result_types: Sequence[Type],
    *,
    public: bool,
) -> tuple[Operation, Block]:
    """A function at the end of a module; returns the operation and its empty body."""
    function_type = ir.TypeAttr.get(ir.FunctionType.get(plain(argument_types), plain(result_types)))
    attributes = {
        "sym_name": string(name),
        "function_type": function_type,
        "sym_visibility": string("public" if public else "private"),
    }
    with ir.InsertionPoint(module.body):
        function = op("func.func", [], [], attributes, 1)
    return function, add_block(function.regions[0], argument_types)


def declare_function(
    module: Module, name: str, argument_types: Sequence[Type], result_types: Sequence[Type]
) -> None:
    """Declare a function without a body, which the loader of the module supplies."""
    function_type = ir.TypeAttr.get(ir.FunctionType.get(plain(argument_types), plain(result_types)))
    attributes = {
        "sym_name": string(name),
        "function_type": function_type,
        "sym_visibility": string("private"),
    }
    with ir.InsertionPoint(module.body):
        op("func.func", [], [], attributes, 1)


def rename_symbols(module: Module, renamed: dict[str, str]) -> None:
    """Rename symbols of a module where they are defined and where they are used."""
    for old, new in renamed.items():
        ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)
    table = ir.SymbolTable(module.operation)
    for old, new in renamed.items():
        ir.SymbolTable.set_symbol_name(table[old], new)


def bytecode(module: Module) -> bytes:
    """A module as MLIR bytecode, without locations: equal programs give equal bytes."""
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return stream.getvalue()


def write_artifact(module: Module) -> bytes:
    """A module as a StableHLO portable artifact, in the version that readers of four weeks ago understand."""
    requirement = stablehlo.StablehloCompatibilityRequirement.WEEK_4
    target = stablehlo.get_version_from_compatibility_requirement(requirement)
    # The last argument: operations and attributes of Shardy stay as they are.
    data: bytes = _portable().serialize_portable_artifact(module, target, True)
    return data


def read_artifact(data: bytes) -> Module:
    """The module of a portable artifact, in the context of the module that this thread is building.

    Raises:
        ValueError: the bytes are no portable artifact, or one of a version that this jaxlib does not read.
    """
    try:
        return _portable().deserialize_portable_artifact(data, session().context)
    except (RuntimeError, ValueError, ir.MLIRError) as error:
        raise ValueError(
            f"the bytes are no StableHLO portable artifact that this jaxlib reads: {error}"
        ) from error


def refine_shapes(module: Module) -> Module:
    """The module with all shapes static, which follow from those of the arguments of ``main``.

    Raises:
        ValueError: an assertion on the shapes fails, or a shape does not follow.
    """
    try:
        refined = _portable().refine_polymorphic_shapes(bytecode(module))
    except RuntimeError as error:
        raise ValueError(f"the shapes of the arguments do not fit: {error}") from error
    return ir.Module.parse(refined, session().context)


def _portable() -> Any:
    return importlib.import_module("jaxlib._jax").mlir


def function_types(function: Operation) -> tuple[list[Type], list[Type]]:
    """Types of the arguments and of the results of a function."""
    found = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    return list(found.inputs), list(found.results)


def move_to_end(operation: Operation, module: Module) -> None:
    """Take an operation out of its own module and put it at the end of another one of the same context."""
    last = list(module.body.operations)
    if last:
        operation.move_after(last[-1].operation)
    else:
        module.body.append(operation)
