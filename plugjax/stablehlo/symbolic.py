"""Modules with sizes that are expressions of variables.

Lowering rules are written for shapes that are known. A type or an attribute with an expression in it is none of MLIR's, so
its operation comes here, and the operation of the same meaning takes its place whose sizes are operands: ``broadcast_in_dim``
becomes ``dynamic_broadcast_in_dim``. Each function takes the values of the variables as its first arguments, which are
32-bit integers; sizes are computed from them where they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import BOOL, INT32, DType
from plugjax.stablehlo import mlir
from plugjax.stablehlo.mlir import (
    Attribute,
    Module,
    Operation,
    SizedNumbers,
    SizedType,
    Type,
    Value,
)

_Attributes = dict[str, Attribute]


class Number:
    """A 32-bit integer that a module computes."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def _apply(self, name: str, other: Any) -> Number:
        return Number(mlir.op(name, [_int_type()], [self.value, _as_value(other)]).result)

    def __add__(self, other: Any) -> Number:
        return self._apply("stablehlo.add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Number:
        return self._apply("stablehlo.subtract", other)

    def __mul__(self, other: Any) -> Number:
        return self._apply("stablehlo.multiply", other)

    __rmul__ = __mul__

    def is_(self, direction: str, other: Any) -> Value:
        """A comparison, as a bool."""
        return _compared(direction, self.value, _as_value(other), "SIGNED")

    def divided(self, other: Any) -> tuple[Number, Number]:
        """Quotient and remainder, rounded down as in Python."""
        by = Number(_as_value(other))
        rest = self._apply("stablehlo.remainder", by)
        # The remainder of the operation has the sign of the dividend.
        differs = _compared("NE", rest.is_("LT", 0), by.is_("LT", 0), "UNSIGNED")
        wrong = mlir.op("stablehlo.and", [differs.type], [differs, rest.is_("NE", 0)]).result
        rest = Number(
            mlir.op(
                "stablehlo.select", [_int_type()], [wrong, (rest + by).value, rest.value]
            ).result
        )
        return (self - rest)._apply("stablehlo.divide", by), rest

    def greatest(self, other: Any) -> Number:
        """The greater of two."""
        return self._apply("stablehlo.maximum", other)

    def least(self, other: Any) -> Number:
        """The smaller of two."""
        return self._apply("stablehlo.minimum", other)


def _int_type() -> Type:
    return mlir.tensor((), INT32)


def _as_value(number: Any) -> Value:
    return number.value if isinstance(number, Number) else mlir.constant(np.int32(number))


def _as_number(number: Any) -> Number:
    return number if isinstance(number, Number) else Number(_as_value(number))


def _compared(direction: str, x: Value, y: Value, kind: str) -> Value:
    attributes = {
        "comparison_direction": mlir.attribute(f"#stablehlo<comparison_direction {direction}>"),
        "compare_type": mlir.attribute(f"#stablehlo<comparison_type {kind}>"),
    }
    flag = mlir.tensor((), BOOL)
    return mlir.op("stablehlo.compare", [flag], [x, y], attributes).result


# Operations of expressions, by the names that their text has.
OPERATIONS: Mapping[str, Callable[[Any, Any], Number]] = {
    "floordiv": lambda a, b: _as_number(a).divided(b)[0],
    "mod": lambda a, b: _as_number(a).divided(b)[1],
    "max": lambda a, b: _as_number(a).greatest(b),
    "min": lambda a, b: _as_number(a).least(b),
}


class Variables:
    """The values of variables in the function that is being written; what ``mlir`` asks for sizes."""

    def __init__(self, names: Sequence[str], module: Module) -> None:
        self.names = tuple(names)
        self.module = module
        self.functions = 0
        self.values: Mapping[str, Number] = {}

    @contextmanager
    def inside(self, values: Sequence[Value]) -> Iterator[None]:
        """Write a function in which the variables have these values."""
        outer, self.values = self.values, dict(zip(self.names, map(Number, values), strict=True))
        yield
        self.values = outer

    @property
    def operands(self) -> list[Value]:
        """The values, as the first operands of a call."""
        return [self.values[name].value for name in self.names]

    @property
    def types(self) -> list[Type]:
        """Their types."""
        return [_int_type()] * len(self.names)

    def marks(self, others: int) -> Attribute:
        """The attributes of the arguments of a function that takes them, and others."""
        marked = [mlir.dictionary({"jax.global_constant": mlir.string(n)}) for n in self.names]
        return mlir.array([*marked, *[mlir.dictionary({})] * others])

    def scalar(self, size: Any) -> Value:
        """A size as an ``i32``."""
        return _as_value(size.evaluate(self.values, OPERATIONS) if mlir.is_symbolic(size) else size)

    def vector(self, sizes: Sequence[Any]) -> Value:
        """Sizes as a vector of ``i32``."""
        one = mlir.tensor((1,), INT32)
        parts = [
            mlir.op("stablehlo.reshape", [one], [self.scalar(d)]).result
            if mlir.is_symbolic(d)
            else mlir.constant(np.asarray([d], np.int32))
            for d in sizes
        ]
        return _joined(parts)

    def operation(
        self,
        name: str,
        result_types: Sequence[Type],
        operands: Sequence[Value],
        attributes: _Attributes | None,
        regions: int,
    ) -> Operation:
        """The operation, with sizes as operands."""
        given = dict(attributes or {})
        if not any(isinstance(t, SizedType) for t in result_types) and not any(
            isinstance(each, SizedNumbers) for each in given.values()
        ):
            # The error that is being handled is about something else.
            raise  # it is called from where MLIR refused the operation
        dynamic = _DYNAMIC.get(name)
        types = mlir.plain(result_types)
        if dynamic is not None:
            shape = result_types[0].shape if isinstance(result_types[0], SizedType) else ()
            name, operands, given = dynamic(self, shape, list(operands), given)
        unknown = [k for k, each in given.items() if isinstance(each, SizedNumbers)]
        if unknown:
            raise NotImplementedError(
                f"export: {name} has no form for sizes that are not known: its {', '.join(unknown)} would be "
                f"{[given[k].numbers for k in unknown]}. Export the function for sizes that are numbers there."
            )
        return mlir.op(name, types, operands, given, regions)


def _joined(parts: Sequence[Value]) -> Value:
    if len(parts) == 1:
        return parts[0]
    whole = mlir.tensor((len(parts),), INT32)
    return mlir.op("stablehlo.concatenate", [whole], parts, {"dimension": mlir.i64(0)}).result


def _with_shape(name: str) -> Callable[..., tuple[str, list[Value], _Attributes]]:
    """The operation that takes the shape of its result as its last operand."""

    def form(
        sizes: Variables, shape: Sequence[Any], operands: list[Value], attributes: _Attributes
    ) -> tuple[str, list[Value], _Attributes]:
        return name, [*operands, sizes.vector(shape)], attributes

    return form


def _with_numbers(
    static: str, name: str, *names: str
) -> Callable[..., tuple[str, list[Value], _Attributes]]:
    """The operation that takes some attributes as its last operands, if one of them is no attribute."""

    def form(
        sizes: Variables, shape: Sequence[Any], operands: list[Value], attributes: _Attributes
    ) -> tuple[str, list[Value], _Attributes]:
        if not any(isinstance(attributes[n], SizedNumbers) for n in names):
            return static, operands, attributes
        moved = [sizes.vector(_numbers(attributes.pop(n))) for n in names]
        return name, [*operands, *moved], attributes

    return form


def _numbers(found: Any) -> Sequence[Any]:
    return found.numbers if isinstance(found, SizedNumbers) else list(found)


def _dynamic_slice(
    sizes: Variables, shape: Sequence[Any], operands: list[Value], attributes: _Attributes
) -> tuple[str, list[Value], _Attributes]:
    """A slice of unknown sizes at a computed position: between its start, moved back inside, and its end."""
    x, *starts = operands
    wanted = _numbers(attributes["slice_sizes"])
    one = mlir.tensor((1,), INT32)
    found = []
    for axis, (start, size) in enumerate(zip(starts, wanted, strict=True)):
        extent = mlir.op(
            "stablehlo.get_dimension_size", [_int_type()], [x], {"dimension": mlir.i64(axis)}
        ).result
        last = Number(extent) - Number(sizes.scalar(size))
        place = Number(mlir.op("stablehlo.convert", [_int_type()], [start]).result)
        inside = place.least(last).greatest(0)
        found.append(mlir.op("stablehlo.reshape", [one], [inside.value]).result)
    start = _joined(found)
    limit = mlir.op("stablehlo.add", [start.type], [start, sizes.vector(wanted)]).result
    strides = mlir.constant(np.ones(len(wanted), np.int32))
    return "stablehlo.real_dynamic_slice", [x, start, limit, strides], {}


def _convolution(
    sizes: Variables, shape: Sequence[Any], operands: list[Value], attributes: _Attributes
) -> tuple[str, list[Value], _Attributes]:
    padding = attributes["padding"]
    if not isinstance(padding, SizedNumbers):
        return "stablehlo.convolution", operands, attributes
    del attributes["padding"]
    return "stablehlo.dynamic_conv", [*operands, _matrix(sizes.vector(padding.numbers))], attributes


def _matrix(pairs: Value) -> Value:
    count = pairs.type.shape[0] // 2
    wanted = mlir.tensor((count, 2), INT32)
    return mlir.op("stablehlo.reshape", [wanted], [pairs]).result


def _top_k(
    sizes: Variables, shape: Sequence[Any], operands: list[Value], attributes: _Attributes
) -> tuple[str, list[Value], _Attributes]:
    """The number of elements is an operand if it is not known."""
    k = attributes["k"]
    if not isinstance(k, SizedNumbers):
        return "chlo.top_k", operands, attributes
    target = {
        "call_target_name": mlir.string("stablehlo.dynamic_top_k"),
        "api_version": mlir.attribute("2 : i32"),
    }
    return "stablehlo.custom_call", [*operands, sizes.scalar(k.numbers[0])], target


def _custom_call(
    sizes: Variables, shape: Sequence[Any], operands: list[Value], attributes: _Attributes
) -> tuple[str, list[Value], _Attributes]:
    raise NotImplementedError(
        f"export: a custom call of {attributes['call_target_name']} needs results of sizes that are known, and one has the "
        f"shape {tuple(shape)}."
    )


_DYNAMIC: Mapping[str, Callable[..., tuple[str, list[Value], _Attributes]]] = {
    "stablehlo.broadcast_in_dim": _with_shape("stablehlo.dynamic_broadcast_in_dim"),
    "stablehlo.reshape": _with_shape("stablehlo.dynamic_reshape"),
    "stablehlo.iota": _with_shape("stablehlo.dynamic_iota"),
    "stablehlo.slice": _with_numbers(
        "stablehlo.slice",
        "stablehlo.real_dynamic_slice",
        "start_indices",
        "limit_indices",
        "strides",
    ),
    "stablehlo.pad": _with_numbers(
        "stablehlo.pad",
        "stablehlo.dynamic_pad",
        "edge_padding_low",
        "edge_padding_high",
        "interior_padding",
    ),
    "stablehlo.gather": _with_numbers(
        "stablehlo.gather", "stablehlo.dynamic_gather", "slice_sizes"
    ),
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.convolution": _convolution,
    "stablehlo.custom_call": _custom_call,
    "chlo.top_k": _top_k,
}


def assertion(holds: Value, message: str, numbers: Sequence[Value]) -> None:
    """End the program with a message unless something holds; ``{0}`` in it is the first of the numbers."""
    attributes = {
        "call_target_name": mlir.string("shape_assertion"),
        "api_version": mlir.attribute("2 : i32"),
        "error_message": mlir.string(message),
        "has_side_effect": mlir.boolean(True),
    }
    mlir.op("stablehlo.custom_call", [], [holds, *numbers], attributes)


def dimension_size(value: Value, axis: int) -> Number:
    """The size of an axis of an argument."""
    attributes = {"dimension": mlir.i64(axis)}
    return Number(
        mlir.op("stablehlo.get_dimension_size", [_int_type()], [value], attributes).result
    )


def dynamic_reduce_window(
    x: Value,
    initial: Value,
    out: ShapedArray,
    attributes: _Attributes,
    dtype: DType,
    body: Callable[[Value, Value], list[Value]],
) -> Value:
    """A reduction over moving windows, whose sizes are operands; the operation on two scalars is a function."""
    sizes = mlir.session().symbolic
    assert isinstance(sizes, Variables), "there are sizes that are not known"
    scalar = mlir.tensor((), dtype)
    name = f"dynamic_reducer_{sizes.functions}"
    sizes.functions += 1
    _, block = mlir.add_function(sizes.module, name, [scalar, scalar], [scalar], public=False)
    with mlir.at_end(block):
        mlir.op("func.return", [], body(*block.arguments))
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    vectors = [sizes.vector(_numbers(attributes[n])) for n in names]
    padding = attributes["padding"]
    flat = padding.numbers if isinstance(padding, SizedNumbers) else mlir.numbers_of(padding)
    operands = [x, initial, *vectors, _matrix(sizes.vector(flat))]
    described = {
        "call_target_name": mlir.string("stablehlo.dynamic_reduce_window"),
        "called_computations": mlir.array([mlir.symbol(name)]),
        "api_version": mlir.attribute("2 : i32"),
    }
    types = mlir.plain([mlir.type_of(out)])
    return mlir.op("stablehlo.custom_call", types, operands, described).result


class SizeEquations(Protocol):
    """How the variables of sizes follow from the shapes of arguments.

    Attributes:
        names: the variables.
    """

    names: Sequence[str]

    def write(self, size_of: Callable[[int, int], Number]) -> Sequence[Any]:
        """Write what computes the variables and what checks the shapes.

        Args:
            size_of: the size of an axis of an argument, by their numbers.
        """
