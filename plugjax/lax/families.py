"""Families: the common rules of primitives of one kind.

``elementwise`` gives abstract evaluation (with broadcasting of scalars and axes of size 1), batching and the physical
rule; ``partials`` gives the derivative from partial derivatives; ``linear`` gives it for primitives that are linear in
every operand. A primitive's own file then holds only the mathematics that is special to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import (
    Array,
    Primitive,
    ShapedArray,
    Zero,
    add_any,
    as_array,
    aval_of,
    broadcast_in_dim_p,
    convert_element_type_p,
    default_placement,
    moveaxis,
    mul_p,
    reduce_sum_p,
    reshape_p,
    scalar_value,
)
from plugjax.extend.dtypes import DType
from plugjax.extend.errors import DtypeError, InconclusiveDimensionOperation, ShapeError
from plugjax.extend.meshes import broadcast_spec, elementwise_spread, sharding_rule, spread_rule
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, jvp_rule, transpose_rule
from plugjax.extend.transforms import Axis
from plugjax.lax.axes import is_symbolic

Accepts = Callable[[DType], bool]


class DtypeSet:
    """Dtypes that a primitive accepts, with the words for messages."""

    __slots__ = ("test", "words")

    def __init__(self, words: str, test: Accepts) -> None:
        self.words = words
        self.test = test

    def __contains__(self, dtype: DType) -> bool:
        return not dtypes.is_extended(dtype) and self.test(dtype)


FLOAT = DtypeSet("floating", dtypes.is_float)
INEXACT = DtypeSet("floating or complex", dtypes.is_inexact)
INTEGER = DtypeSet("integer", dtypes.is_integer)
COMPLEX = DtypeSet("complex", lambda d: d.kind == "c")
BOOL_OR_INTEGER = DtypeSet("bool or integer", lambda d: d.kind == "b" or dtypes.is_integer(d))
NUMBER = DtypeSet("numeric", lambda d: d.kind != "b")
SIGNED = DtypeSet(
    "signed integer, floating or complex",
    lambda d: d.kind not in "bu" and d not in dtypes.UNSIGNED_SMALL,
)
REAL = DtypeSet("real", lambda d: d.kind not in "bc")
REAL_OR_BOOL = DtypeSet("real or bool", lambda d: d.kind != "c")
ANY = DtypeSet("any", lambda d: True)


class _AnyOrExtended(DtypeSet):
    """All dtypes, keys included."""

    def __contains__(self, dtype: DType) -> bool:
        return True


ANY_OR_EXTENDED = _AnyOrExtended("any", lambda d: True)


def check_same_dtypes(name: str, avals: Sequence[ShapedArray]) -> None:
    """Raise unless all operands have one dtype."""
    first = avals[0].dtype
    if any(a.dtype != first for a in avals[1:]):
        names = ", ".join(a.dtype.name for a in avals)
        raise DtypeError(
            f"lax.{name} requires arguments to have the same dtypes, got {names}. Convert them, or call plugjax.numpy, which "
            "promotes them."
        )


def broadcast_shapes_strict(name: str, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    """Common shape of operands of equal rank, in which axes of size 1 stretch; scalars go with any rank."""
    shapes = [a.shape for a in avals if a.shape]
    if not shapes:
        return ()
    first = shapes[0]
    for shape in shapes[1:]:
        if shape != first:
            break
    else:
        return first
    if len({len(s) for s in shapes}) != 1:
        described = ", ".join(a.str_short() for a in avals)
        raise ShapeError(
            f"lax.{name} needs arrays of one rank, got {described}. Reshape or broadcast one."
        )
    result = []
    for axis, sizes in enumerate(zip(*shapes, strict=True)):
        stretched = {s for s in sizes if s != 1}
        if len(stretched) > 1:
            described = ", ".join(a.str_short() for a in avals)
            raise ShapeError(
                f"{name} got incompatible shapes for broadcasting: {described} differ on axis {axis}."
            )
        result.append(stretched.pop() if stretched else 1)
    return tuple(result)


def elementwise(
    rules: RuleSet,
    primitive: Primitive,
    *,
    accepts: DtypeSet | Sequence[DtypeSet] = NUMBER,
    gives: DType | None = None,
    result: Callable[[DType], DType] | None = None,
    differentiable: bool = True,
) -> None:
    """Rules of an elementwise primitive.

    Args:
        rules: the rule set that gets them.
        primitive: operands have one dtype (unless ``accepts`` is a sequence, one per operand) and broadcast.
        accepts: dtypes that are accepted.
        gives: dtype of the result if it does not depend on the operands.
        result: function from the operand's dtype to the result's.
        differentiable: ``False`` states that the result is locally constant.
    """
    name = primitive.name

    @rules.define(abstract_eval, primitive)
    def _aval(*avals: ShapedArray, **_: Any) -> ShapedArray:
        if isinstance(accepts, DtypeSet):
            if len(avals) > 1:
                check_same_dtypes(name, avals)
            if avals[0].dtype not in accepts:
                raise DtypeError(
                    f"{name} does not accept dtype {avals[0].dtype.name}, only {accepts.words}."
                )
        else:
            for aval, each in zip(avals, accepts, strict=True):
                if aval.dtype not in each:
                    raise DtypeError(
                        f"{name} does not accept dtype {aval.dtype.name}, only {each.words}."
                    )
        shape = avals[0].shape if len(avals) == 1 else broadcast_shapes_strict(name, avals)
        dtype = avals[0].dtype
        if gives is not None:
            return ShapedArray(shape, gives, all(a.weak_type for a in avals))
        if result is not None:
            dtype = result(dtype)
        return ShapedArray(shape, dtype, all(a.weak_type for a in avals))

    rules.define(batching_rule, primitive)(elementwise_batching(primitive))
    rules.define(spread_rule, primitive)(elementwise_spread)
    rules.define(sharding_rule, primitive)(broadcast_spec)
    if not differentiable:
        zero_derivative(rules, primitive)


def zero_derivative(rules: RuleSet, primitive: Primitive) -> None:
    """The result is locally constant, or has no tangent space: its tangent is zero."""

    @rules.define(jvp_rule, primitive)
    def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        if primitive.multiple_results:
            return out, [Zero(aval_of(y).to_tangent_aval()) for y in out]
        return out, Zero(aval_of(out).to_tangent_aval())


def elementwise_batching(primitive: Primitive) -> Callable[..., tuple[Any, Any]]:
    """Batching of an elementwise primitive: align batch axes, give operands of lower rank leading axes."""

    def rule(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        if len(args) == 1:
            return primitive.bind(*args, **params), dims[0]  # type: ignore[return-value]  # batched
        mapped = [(aval_of(x), d) for x, d in zip(args, dims, strict=True)]
        shape, bdim = next((a.shape, d) for a, d in mapped if d is not None)
        if all(
            (a.shape == shape and d == bdim) if d is not None else not a.shape for a, d in mapped
        ):
            return primitive.bind(*args, **params), bdim
        rank = max(a.ndim - (d is not None) for a, d in mapped)
        aligned = []
        for x, (aval, d) in zip(args, mapped, strict=True):
            if d is None:
                if aval.shape:
                    x = broadcast_in_dim_p.bind(
                        x,
                        shape=(1, *aval.shape),
                        broadcast_dimensions=tuple(range(1, aval.ndim + 1)),
                    )
            else:
                x = moveaxis(x, d, 0)
                missing = rank - (aval.ndim - 1)
                if missing and rank:
                    full = aval_of(x).shape
                    x = broadcast_in_dim_p.bind(
                        x,
                        shape=(full[0], *(1,) * missing, *full[1:]),
                        broadcast_dimensions=(0, *range(1 + missing, len(full) + missing)),
                    )
            aligned.append(x)
        return primitive.bind(*aligned, **params), 0

    return rule


def unbroadcast(bar: Any, aval: ShapedArray) -> Any:
    """Sum a cotangent over the axes along which an operand of ``aval`` was stretched."""
    found = aval_of(bar)
    if found.shape == aval.shape:
        return bar
    if not aval.shape:
        return reduce_sum_p.bind(bar, axes=tuple(range(found.ndim)))
    axes = tuple(i for i, (a, b) in enumerate(zip(found.shape, aval.shape, strict=True)) if a != b)
    return reshape_p.bind(reduce_sum_p.bind(bar, axes=axes), new_sizes=aval.shape)


def stretch(x: Any, aval: ShapedArray) -> Any:
    """A tangent of an operand in the shape of the result."""
    found = aval_of(x)
    if found.shape == aval.shape:
        return x
    dims = () if not found.shape else tuple(range(aval.ndim))
    return broadcast_in_dim_p.bind(x, shape=aval.shape, broadcast_dimensions=dims)


def partials(rules: RuleSet, primitive: Primitive) -> Callable[[Any], Any]:
    """Decorator: partial derivatives ``(y, *operands, **params) -> tuple``, one per operand, give the jvp rule.

    An entry is the partial derivative of the result by the operand; ``None`` where it is zero. The entries are computed
    only for operands that have a tangent if the function returns callables.
    """

    def register(function: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        @rules.define(jvp_rule, primitive)
        def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
            y = primitive.bind(*primals, **params)
            y_aval = aval_of(y)
            y_dot: Any = Zero(y_aval.to_tangent_aval())
            factors = function(y, *primals, **params)
            for factor, t in zip(factors, tangents, strict=True):
                if type(t) is Zero or factor is None:
                    continue
                if callable(factor):
                    factor = factor()
                term = mul_p.bind(t, factor)
                if aval_of(term).shape != y_aval.shape:
                    term = stretch(term, y_aval)
                y_dot = add_any(y_dot, term)
            return y, y_dot

        return function

    return register


def linear(
    rules: RuleSet, primitive: Primitive
) -> Callable[[Callable[..., Sequence[Any]]], Callable[..., Sequence[Any]]]:
    """Decorator: the transpose of a primitive that is linear in its first operand; its jvp is the primitive itself.

    Further operands, if any, are parameters such as indices: they get no cotangent.
    """

    @rules.define(jvp_rule, primitive)
    def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        if type(tangents[0]) is Zero:
            return y, Zero(aval_of(y).to_tangent_aval())
        return y, primitive.bind(tangents[0], *primals[1:], **params)

    def register(function: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        return rules.define(transpose_rule, primitive)(function)

    return register


def convert(x: Any, dtype: DType, weak_type: bool = False) -> Any:
    """``x`` in another dtype; unchanged if it has that dtype."""
    aval = aval_of(x)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    number = converted_number(x, dtype, weak_type)
    if number is not None:
        return number
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type)


_PYTHON_NUMBERS = (bool, int, float, complex)


def converted_number(x: Any, dtype: DType, weak_type: bool) -> Array | None:
    """A number that is known in another dtype, without an equation; ``None`` for other values, and if it does not fit."""
    if type(x) is Array:
        number, placement = x._host, x._placement
        if x.aval.shape or number is None or dtypes.is_extended(x.aval.dtype):
            return None
    elif type(x) in _PYTHON_NUMBERS:
        number, placement = scalar_value(x), default_placement()
    else:
        return None
    number = np.asarray(number)
    if dtypes.is_extended(dtype) or (number.dtype.kind == "c" and dtype.kind != "c"):
        return None
    with np.errstate(all="ignore"):
        found = number.astype(dtype)
    if not dtypes.is_inexact(dtype) and found != number:
        # Backends saturate.
        return None
    return Array(scalar_aval(dtype, weak_type), placement, found[()])


_scalar_avals: tuple[dict[DType, ShapedArray], dict[DType, ShapedArray]] = ({}, {})


def scalar_aval(dtype: DType, weak_type: bool) -> ShapedArray:
    """The aval of a number."""
    known = _scalar_avals[weak_type]
    found = known.get(dtype)
    if found is None:
        found = known[dtype] = ShapedArray((), dtype, weak_type)
    return found


def size_value(size: Any, dtype: Any) -> Any:
    """The size of an axis, or a number computed from sizes, as a scalar of a dtype."""
    if is_symbolic(size):
        return convert_element_type_p.bind(as_array(size), new_dtype=dtype, weak_type=False)
    return dtype.type(size)


def scalar(value: Any, like: Any, weak_type: bool | None = None) -> Any:
    """A number as an operand beside ``like``, for use in a formula: of its dtype, and where it is.

    Args:
        value: the number.
        like: an Array, a tracer or a NumPy scalar.
        weak_type: whether the number is weak; by default if ``like`` is.
    """
    aval = aval_of(like)
    dtype = aval.dtype
    if weak_type is None:
        weak_type = aval.weak_type
    try:
        number = dtype.type(value)
    except (TypeError, InconclusiveDimensionOperation):
        if not is_symbolic(value):
            raise
        return convert_element_type_p.bind(as_array(value), new_dtype=dtype, weak_type=weak_type)
    if type(like) is Array:
        return Array(scalar_aval(dtype, weak_type), like._placement.whole, number)
    # Staging writes a NumPy scalar as a literal; it has no weak type.
    return Array(scalar_aval(dtype, True), default_placement(), number) if weak_type else number
