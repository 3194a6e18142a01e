"""Arrays of extended dtypes as JAX's class of them. They are of the class ``Array``, like all others."""

from __future__ import annotations

from typing import Any

from plugjax.dtypes import issubdtype, prng_key
from plugjax.extend.core import Array, Placement, ShapedArray, Tracer, as_array, physical_aval
from plugjax.extend.dtypes import is_extended
from plugjax.extend.meshes import NamedSharding, PartitionSpec


class _ArraysOfExtendedDtypes(type(Array)):  # type: ignore[misc]  # the class of a class
    """Finds arrays by their dtype, and makes them over arrays of the dtype that is stored."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type(instance) is Array and _is_own(instance.aval.dtype)

    def __call__(cls, aval: Any, data: Any) -> Array:
        if not is_extended(aval.dtype):
            raise TypeError(
                f"EArray: {aval} is not of an extended dtype, so its arrays need no other within. Use the array itself."
            )
        logical = ShapedArray(tuple(aval.shape), aval.dtype)
        stored, x = physical_aval(logical), as_array(data, "EArray")
        if isinstance(x, Tracer):
            raise TypeError(
                f"EArray: data are traced, {x.aval.str_short()}. Within a transformation use lax.convert_element_type(x, dtype)."
            )
        if (x.shape, x.dtype) != (stored.shape, stored.dtype):
            raise ValueError(
                f"EArray: {logical.str_short()} is stored as {stored.str_short()}, got data {x.aval.str_short()}. Convert or reshape them."
            )
        placement = _of_elements(x._placement, logical, stored)
        return Array(placement.sharding.typed(logical), placement, x._host, x._buffer)


class EArray(Array, metaclass=_ArraysOfExtendedDtypes):
    """The class of arrays whose dtype is extended, keys of random numbers excepted: for ``isinstance``, and to make them.

    ``EArray(aval, data)`` is an array over the memory of another.

    Args:
        aval: its type: what has a ``shape`` ``[...]`` and an extended ``dtype``.
        data: the values as they are stored: an array ``[..., *dtype.storage_shape]`` of ``dtype.storage_dtype``.

    Raises:
        TypeError: the dtype is not extended, or the data are traced.
        ValueError: the data have another shape or dtype, or elements are cut over devices.

    Differs from JAX:
        The result is an ``Array``, which jitted functions return and all functions accept that need no arithmetic; it is printed with its
        dtype. Of a dtype of keys it is an array of keys, for which ``isinstance`` is false. Shapes and dtypes are checked.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental import EArray, primal_tangent_dtype
        >>> q8 = primal_tangent_dtype("int8", "float32", name="q8")
        >>> x = EArray(plugjax.ShapeDtypeStruct((2,), q8), jnp.array([1, 2], "int8"))
        >>> x.aval, isinstance(x, EArray)
        (ShapedArray(q8[2]), True)
        >>> plugjax.lax.convert_element_type(x, "int8")
        Array([1, 2], dtype=int8)
    """

    __slots__ = ()


def _is_own(dtype: Any) -> bool:
    return is_extended(dtype) and not issubdtype(dtype, prng_key)


def _of_elements(placement: Placement, logical: ShapedArray, stored: ShapedArray) -> Placement:
    """Where an array of elements is whose stored values are at a placement."""
    sharding = placement.sharding
    if not isinstance(sharding, NamedSharding) or logical.ndim == stored.ndim:
        return placement
    if any(count > 1 for count in sharding.counts(stored.ndim)[logical.ndim :]):
        raise ValueError(
            f"EArray: {sharding} cuts the elements of {logical.str_short()}, which are stored as {stored.str_short()}. Leave the last axes "
            "whole."
        )
    return sharding.update(spec=PartitionSpec(*sharding.spec[: logical.ndim])).committed


__all__ = ["EArray"]
