"""Dtypes whose tangents have another dtype than a value's own: small integers with floating derivatives, for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plugjax.extend import dtypes
from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import DType, DTypeLike, ExtendedDType


@dataclass(frozen=True)
class PrimalTangentDType(ExtendedDType):
    """A dtype that is stored as ``storage_dtype``, converts from it and to it, and has tangents of the dtype ``tangent``."""

    storage_dtype: DType
    tangent: DType
    name: str
    storage_shape = ()
    converts = True

    def __repr__(self) -> str:
        return self.name


def primal_tangent_dtype(
    primal_dtype: DTypeLike, tangent_dtype: DTypeLike, name: str | None = None
) -> Any:
    """A dtype of values that are stored as one dtype and differentiated as another.

    Args:
        primal_dtype: of the values as they are stored.
        tangent_dtype: of their tangents and cotangents.
        name: how the dtype is printed.

    Returns:
        A dtype for ``lax.convert_element_type`` from ``primal_dtype`` and back. Arithmetic is for functions with custom derivatives, which
        convert the values.

    Differs from JAX:
        There are arrays of such a dtype outside of ``jit`` too.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> q8 = plugjax.experimental.primal_tangent_dtype(jnp.int8, jnp.float32, name="q8")
        >>> @plugjax.custom_vjp
        ... def dequantized(q):
        ...     return lax.convert_element_type(q, jnp.int8) * jnp.float32(0.5)
        >>> dequantized.defvjp(lambda q: (dequantized(q), None), lambda _, g: (0.5 * g,))
        >>> q = lax.convert_element_type(jnp.array([1, 2], "int8"), q8)
        >>> plugjax.grad(lambda q: (dequantized(q) ** 2).sum())(q)
        Array([0.5, 1. ], dtype=float32)
    """
    primal, tangent = dtypes.canonicalize(primal_dtype), dtypes.canonicalize(tangent_dtype)
    short = [ShapedArray((), each).str_short(True).removesuffix("[]") for each in (primal, tangent)]
    return PrimalTangentDType(primal, tangent, name or f"PrimalTangentDType{{{'/'.join(short)}}}")
