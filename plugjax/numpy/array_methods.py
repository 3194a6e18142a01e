"""The functions behind operators, methods and NumPy protocols of arrays and tracers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array, device_put, physical_aval
from plugjax.extend.dtypes import DTypeLike
from plugjax.extend.errors import ConcretizationTypeError
from plugjax.extend.execution import explicit_transfers
from plugjax.extend.layouts import Format, row_by_row
from plugjax.numpy import (
    arithmetic,
    bitwise,
    creation,
    cumulative,
    indexing,
    joining,
    linear_algebra,
    logic,
    manipulation,
    protocols,
    reductions,
    rounding,
    selection,
    sharing,
    sorting_searching,
    tiling,
    updates,
)
from plugjax.numpy.promotion import canonical_dtype

__all__ = ["METHODS"]


def _reshape(x: Array, *args: Any, order: str = "C", copy: bool | None = None) -> Array:
    """The elements in another shape, given as a sequence or as sizes."""
    shape = args[0] if len(args) == 1 else args
    return manipulation.reshape(x, shape, order)


def _transpose(x: Array, *args: Any) -> Array:
    """The axes in another order, given as a sequence or as axes; reversed by default."""
    axes = (
        args[0]
        if len(args) == 1 and (args[0] is None or hasattr(args[0], "__iter__"))
        else args or None
    )
    return manipulation.transpose(x, axes)


def _T(x: Array) -> Array:
    return manipulation.transpose(x)


def _flatten(x: Array, order: str = "C") -> Array:
    """The elements on one axis."""
    return manipulation.ravel(x, order)


def _flat(x: Array) -> Any:
    raise NotImplementedError("Array.flat is not supported; use x.ravel().")


def _copy(x: Array) -> Array:
    """A copy."""
    return creation.array(x, copy=True)


_UNEVEN = "Array.view: the bytes of the last axis do not make a whole number of elements of the larger dtype."


def _view(x: Array, dtype: DTypeLike | None = None, type: None = None) -> Array:
    """The bits as another dtype; a narrower or wider one changes the last axis."""
    if type is not None:
        raise NotImplementedError("Array.view: leave `type` out; a view is always an Array.")
    wanted = canonical_dtype("view", dtype)
    if x.dtype == wanted:
        return x
    if x.dtype.kind == "b" or wanted.kind == "b":
        if x.dtype.kind == "b":
            x = lax.convert_element_type(x, np.uint8)
            return _view(x, wanted)
        return lax.ne(_view(x, np.uint8), np.uint8(0))
    old, new = x.dtype.itemsize, wanted.itemsize
    if not x.ndim and old == new and "c" in (x.dtype.kind, wanted.kind):
        return lax.squeeze(_view(lax.expand_dims(x, (0,)), wanted), (0,))
    if x.dtype.kind == "c" and x.ndim:
        # A complex number is stored as its real and its imaginary part.
        parts = lax.concatenate(
            [lax.expand_dims(f(x), (x.ndim,)) for f in (lax.real, lax.imag)], x.ndim
        )
        return _view(lax.reshape(parts, (*x.shape[:-1], 2 * x.shape[-1])), wanted)
    if wanted.kind == "c" and x.ndim:
        pairs = _view(x, np.dtype(f"float{wanted.itemsize * 4}"))
        if pairs.shape[-1] % 2:
            raise ValueError(_UNEVEN)
        pairs = lax.reshape(pairs, (*pairs.shape[:-1], pairs.shape[-1] // 2, 2))
        return lax.complex(*(lax.index_in_dim(pairs, i, -1, keepdims=False) for i in (0, 1)))
    if old == new:
        return lax.bitcast_convert_type(x, wanted)
    if not x.ndim:
        raise ValueError(
            "Array.view: an array without axes needs a dtype of the itemsize that it has."
        )
    if old > new:
        return lax.collapse(lax.bitcast_convert_type(x, wanted), x.ndim - 1)
    if x.shape[-1] * old % new:
        raise ValueError(_UNEVEN)
    grouped = lax.reshape(x, (*x.shape[:-1], x.shape[-1] * old // new, new // old))
    return lax.bitcast_convert_type(grouped, wanted)


def _unstack(x: Array) -> tuple[Array, ...]:
    return joining.unstack(x)


def _clip(x: Array, min: Any = None, max: Any = None) -> Array:
    """Elements limited to an interval."""
    return selection.clip(x, min, max)


def _compress(x: Array, condition: Any, axis: int | None = None, **kwargs: Any) -> Array:
    """Slices along an axis where a condition holds."""
    return indexing.compress(condition, x, axis, **kwargs)


def _namespace(api_version: str | None = None) -> Any:
    if api_version is not None and api_version not in ("2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(
            f"__array_namespace__: unsupported api_version {api_version!r}; 2024.12 is the newest."
        )
    return sys.modules["plugjax.numpy"]


def _byteswap(x: Array) -> Array:
    """The bytes of each element in the other order."""
    size = x.dtype.itemsize
    if size == 1:
        return x
    if x.dtype.kind == "c":
        return lax.complex(_byteswap(lax.real(x)), _byteswap(lax.imag(x)))
    return lax.bitcast_convert_type(
        lax.rev(lax.bitcast_convert_type(x, np.uint8), (x.ndim,)), x.dtype
    )


def _contains(x: Array, value: Any) -> Any:
    if x.ndim != 1:
        raise ValueError(
            f"Array.__contains__: the searched array must be one-dimensional, got shape {x.shape}. Use (x == value).any()."
        )
    return reductions.any(logic.equal(x, value))


def _copy_to_host_async(x: Array) -> None:
    """Begin to fetch the values; what asks for them later finds them there."""
    with explicit_transfers():
        _held(x, "copy_to_host_async")._fetch()


def _on_device_size_in_bytes(x: Array) -> int:
    """Bytes that the values take on the device."""
    stored = physical_aval(_held(x, "on_device_size_in_bytes").aval)
    return stored.size * stored.dtype.itemsize


def _unsafe_buffer_pointer(x: Array) -> int:
    """The address of the values in the host's memory; the array must outlive its use."""
    values = np.asarray(_held(x, "unsafe_buffer_pointer")._fetch())
    return int(values.__array_interface__["data"][0])


def _held(x: Any, who: str) -> Array:
    if type(x) is not Array:
        raise ConcretizationTypeError(x, f"{who}: only arrays have memory.")
    return x


def _format(x: Array) -> Format:
    return Format(row_by_row(x.shape), x.sharding)


METHODS: dict[str, Callable[..., Any]] = {
    "format": _format,
    "byteswap": _byteswap,
    "copy_to_host_async": _copy_to_host_async,
    "on_device_size_in_bytes": _on_device_size_in_bytes,
    "unsafe_buffer_pointer": _unsafe_buffer_pointer,
    "contains": _contains,
    "dlpack": sharing.dlpack,
    "T": _T,
    "abs": arithmetic.abs,
    "add": arithmetic.add,
    "all": reductions.all,
    "any": reductions.any,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "argpartition": sorting_searching.argpartition,
    "argsort": sorting_searching.argsort,
    "array_function": protocols.array_function,
    "array_namespace": _namespace,
    "array_ufunc": protocols.array_ufunc,
    "astype": manipulation.astype,
    "at": updates.at,
    "bitwise_and": bitwise.bitwise_and,
    "bitwise_not": bitwise.bitwise_not,
    "bitwise_or": bitwise.bitwise_or,
    "bitwise_xor": bitwise.bitwise_xor,
    "choose": indexing.choose,
    "clip": _clip,
    "compress": _compress,
    "conj": arithmetic.conj,
    "conjugate": arithmetic.conjugate,
    "copy": _copy,
    "cumprod": cumulative.cumprod,
    "cumsum": cumulative.cumsum,
    "diagonal": indexing.diagonal,
    "device_put": device_put,
    "divmod": arithmetic.divmod,
    "dot": linear_algebra.dot,
    "equal": logic.equal,
    "flat": _flat,
    "flatten": _flatten,
    "floor_divide": arithmetic.floor_divide,
    "getitem": indexing.getitem,
    "greater": logic.greater,
    "greater_equal": logic.greater_equal,
    "imag": arithmetic.imag,
    "left_shift": bitwise.left_shift,
    "less": logic.less,
    "less_equal": logic.less_equal,
    "mT": manipulation.matrix_transpose,
    "matmul": linear_algebra.matmul,
    "max": reductions.max,
    "mean": reductions.mean,
    "min": reductions.min,
    "multiply": arithmetic.multiply,
    "negative": arithmetic.negative,
    "nonzero": sorting_searching.nonzero,
    "not_equal": logic.not_equal,
    "positive": arithmetic.positive,
    "power": arithmetic.power,
    "prod": reductions.prod,
    "ptp": reductions.ptp,
    "ravel": manipulation.ravel,
    "real": arithmetic.real,
    "remainder": arithmetic.remainder,
    "repeat": tiling.repeat,
    "reshape": _reshape,
    "right_shift": bitwise.right_shift,
    "round": rounding.round,
    "searchsorted": sorting_searching.searchsorted,
    "sort": sorting_searching.sort,
    "squeeze": manipulation.squeeze,
    "std": reductions.std,
    "subtract": arithmetic.subtract,
    "sum": reductions.sum,
    "swapaxes": manipulation.swapaxes,
    "take": indexing.take,
    "trace": linear_algebra.trace,
    "transpose": _transpose,
    "true_divide": arithmetic.true_divide,
    "unstack": _unstack,
    "var": reductions.var,
    "view": _view,
}
