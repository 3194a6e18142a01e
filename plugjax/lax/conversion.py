"""Conversion of dtypes and of precision, copies, and stop_gradient."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes, pytree
from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    ShapedArray,
    Tracer,
    Zero,
    aval_of,
    convert_element_type_p,
    moveaxis,
    stop_gradient_p,
)
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.errors import DtypeError, KeyDtypeError
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    jvp_rule,
    physical_rule,
    transpose_rule,
)
from plugjax.lax.families import (
    ANY,
    ANY_OR_EXTENDED,
    FLOAT,
    convert,
    elementwise,
    elementwise_batching,
    linear,
    zero_derivative,
)
from plugjax.lax.promotion import content
from plugjax.lax.requested_dtypes import canonical_dtype, warn_caller

rules = RuleSet(__name__)

bitcast_convert_type_p = Primitive("bitcast_convert_type")
copy_p = Primitive("copy")
stage_p = Primitive("stage")
reduce_precision_p = Primitive("reduce_precision")

elementwise(rules, stop_gradient_p, accepts=ANY, differentiable=False)
elementwise(rules, copy_p, accepts=ANY_OR_EXTENDED)
elementwise(rules, stage_p, accepts=ANY)
elementwise(rules, reduce_precision_p, accepts=FLOAT)


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """``operand`` in another dtype, element by element; the result is not weak.

    Differs from NumPy:
        bool from float is ``x != 0``.

    Warns:
        ComplexWarning: a complex operand loses its imaginary part.
        UserWarning: a dtype of 64 bits is narrowed, because they are off.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.convert_element_type(jnp.array([1.7]), jnp.int32)
        Array([1], dtype=int32)
    """
    if new_dtype is None:
        raise ValueError("convert_element_type: new_dtype is None, and a dtype is needed.")
    dtype = canonical_dtype("convert_element_type", new_dtype)
    operand = content(operand)
    aval = aval_of(operand)
    if aval.dtype.kind == "c" and dtype.kind != "c" and dtype.kind != "b":
        warn_caller(
            "Casting complex values to real discards the imaginary part. Take it by lax.real first.",
            np.exceptions.ComplexWarning,
        )
    if aval.dtype == dtype and not aval.weak_type and hasattr(operand, "aval"):
        return operand  # type: ignore[return-value]  # it has an aval: an array
    if aval.shape or (aval.dtype == dtype and not aval.weak_type):
        return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=False)
    return convert(operand, dtype)


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """The bits of ``operand`` as another dtype; a change of width adds or removes a trailing axis.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.bitcast_convert_type(jnp.float32(1), jnp.int32)
        Array(1065353216, dtype=int32)
    """
    if new_dtype is None:
        raise ValueError("bitcast_convert_type: new_dtype is None, and a dtype is needed.")
    return bitcast_convert_type_p.bind(
        operand, new_dtype=dtypes.canonicalize(new_dtype, "bitcast_convert_type")
    )


def stop_gradient(x: Any) -> Any:
    """``x``, an array or a pytree of them, as a constant to differentiation. Integers pass unchanged.

    Example:
        >>> import plugjax
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> plugjax.grad(lambda x: x * lax.stop_gradient(x))(3.0)
        Array(3., dtype=float32, weak_type=True)
    """
    if type(x) is Array or isinstance(x, Tracer):
        return _constant(x)
    return pytree.tree_map(_constant, x)


def _constant(x: Any) -> Any:
    if dtypes.tangent_dtype(aval_of(x).dtype) == dtypes.float0:
        return x
    return stop_gradient_p.bind(x)


def stage(x: ArrayLike, /) -> Array:
    """``x`` as a value of the current trace: an Array, or a variable of the program that is being staged.

    Example:
        >>> from plugjax import lax
        >>> lax.stage(2)
        Array(2, dtype=int32, weak_type=True)
    """
    return stage_p.bind(x)


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Elementwise the nearest number of a floating format with fewer bits, in the dtype of ``operand``.

    Halves go to the even neighbour. What is too large becomes infinite; what is below the normal numbers of the format
    becomes 0.

    Args:
        operand: floating.
        exponent_bits: of the format, 1 or more.
        mantissa_bits: of the format, without the leading one.

    Raises:
        ValueError: the format does not exist.

    Example:
        >>> from plugjax import lax
        >>> lax.reduce_precision(3.14159, 5, 2)
        Array(3., dtype=float32, weak_type=True)
    """
    exponent, mantissa = operator.index(exponent_bits), operator.index(mantissa_bits)
    if exponent < 1:
        raise ValueError(f"reduce_precision needs exponent_bits >= 1, got {exponent}.")
    if mantissa < 0:
        raise ValueError(f"reduce_precision needs mantissa_bits >= 0, got {mantissa}.")
    return reduce_precision_p.bind(operand, exponent_bits=exponent, mantissa_bits=mantissa)


def dtype(x: ArrayLike) -> DType:
    """The dtype of an array-like, a type or a name; of 32 bits instead of 64 unless x64 is enabled.

    Raises:
        TypeError: ``x`` has no dtype.
        ValueError: ``x`` is None.

    Example:
        >>> from plugjax import lax
        >>> lax.dtype(1.5), lax.dtype("int8")
        (dtype('float32'), dtype('int8'))
    """
    if x is None:
        raise ValueError(f"lax.dtype: {x} has no dtype.")
    if isinstance(x, (list, tuple)):
        raise TypeError(
            f"lax.dtype: a list or tuple has no dtype, got {x}. Make it an array first."
        )
    if isinstance(x, (type, str, np.dtype)):
        return dtypes.canonicalize(x)
    if isinstance(x, (bool, int, float, complex)):
        return dtypes.scalar_dtype(x)
    given: Any = x
    return dtypes.canonicalize(getattr(given, "dtype", given))


def copy(x: Any) -> Any:
    """A copy of ``x``, in its own memory."""
    return copy_p.bind(x)


@rules.define(abstract_eval, convert_element_type_p)
def _convert_aval(x: ShapedArray, *, new_dtype: DType, weak_type: bool) -> ShapedArray:
    if dtypes.is_extended(x.dtype) != dtypes.is_extended(new_dtype):
        _check_stored(x.dtype, new_dtype)
    if not dtypes.is_extended(new_dtype) and new_dtype.kind not in "biufcV":
        raise DtypeError(f"arrays hold numbers and bools, not {new_dtype}.")
    return ShapedArray(x.shape, new_dtype, weak_type)


def _check_stored(old: Any, new: Any) -> None:
    """Raise unless one dtype is extended, is stored as the other, and may be converted."""
    extended, plain = (old, new) if dtypes.is_extended(old) else (new, old)
    if not getattr(extended, "converts", False):
        raise KeyDtypeError(f"cannot convert {old} to {new}.")
    if extended.storage_dtype != plain:
        raise ValueError(
            f"can only convert between the dtype {extended.name} and its representation dtype {extended.storage_dtype}, got {plain}."
        )


@rules.define(jvp_rule, convert_element_type_p)
def _convert_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, new_dtype: DType, weak_type: bool
) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    y = convert_element_type_p.bind(x, new_dtype=new_dtype, weak_type=weak_type)
    tangent = aval_of(y).to_tangent_aval()
    if type(x_dot) is Zero or tangent.dtype == dtypes.float0:
        return y, Zero(tangent)
    return y, convert_element_type_p.bind(x_dot, new_dtype=tangent.dtype, weak_type=weak_type)


@rules.define(transpose_rule, convert_element_type_p)
def _convert_transpose(y_bar: Any, x: Any, *, new_dtype: DType, weak_type: bool) -> tuple[Any]:
    return (convert_element_type_p.bind(y_bar, new_dtype=x.aval.dtype, weak_type=x.aval.weak_type),)


rules.define(batching_rule, convert_element_type_p)(elementwise_batching(convert_element_type_p))


@rules.define(physical_rule, copy_p)
def _copy_physical(in_avals: Any, out_avals: Any, x: Any) -> Any:
    return copy_p.bind(x)


@rules.define(physical_rule, convert_element_type_p, stage_p)
def _stored_unchanged(in_avals: Any, out_avals: Any, x: Any, **params: Any) -> Any:
    return x


@rules.define(abstract_eval, bitcast_convert_type_p)
def _bitcast_aval(x: ShapedArray, *, new_dtype: DType) -> ShapedArray:
    old, new = _bits(x.dtype), _bits(new_dtype)
    if old < new and (x.shape[-1] if x.shape else 1) * old != new:
        raise ValueError(
            f"bitcast_convert_type from {x.str_short()} to {new_dtype.name} needs a trailing axis of size {new // old}."
        )
    if x.dtype != new_dtype and {x.dtype.kind, new_dtype.kind} & {"b", "c"}:
        raise DtypeError(
            "bitcast_convert_type does not accept bool and complex dtypes, but from one to itself: got "
            f"{x.dtype.name} and {new_dtype.name}."
        )
    if old == new:
        return ShapedArray(x.shape, new_dtype)
    if old > new:
        return ShapedArray((*x.shape, old // new), new_dtype)
    return ShapedArray(x.shape[:-1], new_dtype)


def _bits(dtype: DType) -> int:
    if dtype in (*dtypes.SIGNED_SMALL, *dtypes.UNSIGNED_SMALL):
        return int(dtype.name.lstrip("uint"))
    return int(np.dtype(dtype).itemsize * 8)


zero_derivative(rules, bitcast_convert_type_p)


@rules.define(batching_rule, bitcast_convert_type_p)
def _bitcast_batching(
    axis: Any, args: Sequence[Any], dims: Sequence[Any], *, new_dtype: DType
) -> tuple[Any, Any]:
    return bitcast_convert_type_p.bind(moveaxis(args[0], dims[0], 0), new_dtype=new_dtype), 0


@linear(rules, copy_p)
def _copy_transpose(y_bar: Any, x: Any) -> tuple[Any]:
    return (y_bar,)


@linear(rules, stage_p)
def _stage_transpose(y_bar: Any, x: Any) -> tuple[Any]:
    return (y_bar,)


# Rounding is not linear. Its derivative, by convention, is rounding too.
@linear(rules, reduce_precision_p)
def _reduce_precision_transpose(y_bar: Any, x: Any, **format_bits: int) -> tuple[Any]:
    return (reduce_precision_p.bind(y_bar, **format_bits),)
