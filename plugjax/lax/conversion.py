"""Conversion of dtypes, copies, and values without derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.core import dtypes
from plugjax.core.array import aval_of
from plugjax.core.aval import ShapedArray
from plugjax.core.dtypes import DType, DTypeLike
from plugjax.core.errors import DtypeError
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet, abstract_eval
from plugjax.core.transforms.batching import batching_rule
from plugjax.core.transforms.jvp import jvp_rule
from plugjax.core.transforms.physical import physical_rule
from plugjax.core.transforms.transpose import transpose_rule
from plugjax.core.vocabulary import Zero, convert_element_type_p, moveaxis, stop_gradient_p
from plugjax.lax.families import ANY, elementwise, elementwise_batching, linear, zero_derivative

rules = RuleSet(__name__)

bitcast_convert_type_p = Primitive("bitcast_convert_type")
copy_p = Primitive("copy")

elementwise(rules, stop_gradient_p, accepts=ANY, differentiable=False)
elementwise(rules, copy_p, accepts=ANY)


def convert_element_type(operand: Any, new_dtype: DTypeLike) -> Any:
    """``operand`` in another dtype, element by element; the result is not weak.

    Differs from NumPy:
        A complex operand loses its imaginary part without a warning; bool from float is ``x != 0``.
    """
    dtype = dtypes.canonicalize(new_dtype)
    aval = aval_of(operand)
    if aval.dtype == dtype and not aval.weak_type and hasattr(operand, "aval"):
        return operand
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=False)


def bitcast_convert_type(operand: Any, new_dtype: DTypeLike) -> Any:
    """The bits of ``operand`` as another dtype; a change of width adds or removes a trailing axis."""
    return bitcast_convert_type_p.bind(operand, new_dtype=dtypes.canonicalize(new_dtype))


def stop_gradient(x: Any) -> Any:
    """``x``, as a constant to differentiation. Integers pass unchanged."""
    if dtypes.tangent_dtype(aval_of(x).dtype) == dtypes.float0:
        return x
    return stop_gradient_p.bind(x)


def copy(x: Any) -> Any:
    """A copy of ``x``, in memory of its own."""
    return copy_p.bind(x)


@rules.define(abstract_eval, convert_element_type_p)
def _convert_aval(x: ShapedArray, *, new_dtype: DType, weak_type: bool) -> ShapedArray:
    if dtypes.is_extended(x.dtype) != dtypes.is_extended(new_dtype):
        raise DtypeError(f"cannot convert {x.dtype} to {new_dtype}.")
    return ShapedArray(x.shape, new_dtype, weak_type)


@rules.define(jvp_rule, convert_element_type_p)
def _convert_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, new_dtype: DType, weak_type: bool
) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    y = convert_element_type_p.bind(x, new_dtype=new_dtype, weak_type=weak_type)
    tangent = aval_of(y).to_tangent_aval()
    if type(x_dot) is Zero or tangent.dtype == dtypes.float0:
        return y, Zero(tangent)
    return y, convert_element_type_p.bind(x_dot, new_dtype=new_dtype, weak_type=weak_type)


@rules.define(transpose_rule, convert_element_type_p)
def _convert_transpose(y_bar: Any, x: Any, *, new_dtype: DType, weak_type: bool) -> tuple[Any]:
    return (convert_element_type_p.bind(y_bar, new_dtype=x.aval.dtype, weak_type=x.aval.weak_type),)


rules.define(batching_rule, convert_element_type_p)(elementwise_batching(convert_element_type_p))


@rules.define(physical_rule, convert_element_type_p, copy_p)
def _stored_unchanged(in_avals: Any, out_avals: Any, x: Any, **params: Any) -> Any:
    return x


@rules.define(abstract_eval, bitcast_convert_type_p)
def _bitcast_aval(x: ShapedArray, *, new_dtype: DType) -> ShapedArray:
    old, new = _bits(x.dtype), _bits(new_dtype)
    if (x.dtype.kind == "c") != (new_dtype.kind == "c"):
        raise DtypeError(
            f"bitcast_convert_type does not accept complex dtypes, got {x.dtype.name} and {new_dtype.name}."
        )
    if old == new:
        return ShapedArray(x.shape, new_dtype)
    if old > new:
        return ShapedArray((*x.shape, old // new), new_dtype)
    if not x.shape or x.shape[-1] != new // old:
        raise DtypeError(
            f"bitcast_convert_type from {x.str_short()} to {new_dtype.name} needs a trailing axis of size {new // old}."
        )
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
