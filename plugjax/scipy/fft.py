"""Discrete cosine transforms: the names of ``jax.scipy.fft``.

The transform of type 2 of ``n`` values is the real part of ``exp(-i pi k / 2n)`` times the Fourier transform of the
permuted values: first the even positions, then the odd ones backwards (Makhoul 1980).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.errors import NegativeSizeError
from plugjax.extend.transforms import publish
from plugjax.numpy import fft as fourier
from plugjax.numpy.manipulation import canonical_axes, canonical_axis
from plugjax.numpy.promotion import ArrayLike, Operand, as_operand, scalar, to_inexact

__all__ = ["dct", "dctn", "idct", "idctn"]


def _checked(who: str, x: ArrayLike, kind: int, norm: str | None) -> Operand:
    if kind != 2:
        raise NotImplementedError("scipy.fft: type 2 is the only one implemented.")
    if norm not in (None, "backward", "ortho"):
        raise ValueError(f"scipy.fft.{who}: norm is None, 'backward' or 'ortho', got {norm!r}.")
    return to_inexact(who, as_operand(who, x))


def _resized(x: Operand, sizes: dict[int, int]) -> Operand:
    widths = [(0, sizes.get(i, n) - n, 0) for i, n in enumerate(x.shape)]
    return lax.pad(x, scalar(0, x), widths)


def _along(values: Any, x: Operand, axis: int) -> Operand:
    """A vector of host numbers along one axis of the array, in its dtype."""
    return lax.broadcast_in_dim(np.asarray(values, x.dtype), x.shape, (axis,))


def _turned(x: Operand, axis: int, sign: int) -> Operand:
    size = x.shape[axis]
    return x * _along(np.exp(sign * 0.5j * np.pi * np.arange(size) / size), x, axis)


def _ortho(size: int) -> np.ndarray[Any, Any]:
    """The factors of the orthogonal transform."""
    scale = np.full(size, 1 / np.sqrt(2 * size))
    scale[0] = 1 / np.sqrt(4 * size)
    return scale


def _dct(x: Operand, axis: int, norm: str | None) -> Array:
    if x.dtype.kind == "c":
        return lax.complex(_dct(lax.real(x), axis, norm), _dct(lax.imag(x), axis, norm))
    even = lax.slice_in_dim(x, 0, None, 2, axis)
    odd = lax.rev(lax.slice_in_dim(x, 1, None, 2, axis), (axis,))
    spectrum = fourier.fft(lax.concatenate([even, odd], axis), axis=axis)
    found = 2 * lax.real(_turned(spectrum, axis, -1))
    if norm == "ortho":
        found = found * _along(_ortho(x.shape[axis]), found, axis)
    return found


def _idct(x: Operand, axis: int, norm: str | None) -> Array:
    if x.dtype.kind == "c":
        return lax.complex(_idct(lax.real(x), axis, norm), _idct(lax.imag(x), axis, norm))
    if x.dtype.itemsize < 4:
        x = lax.convert_element_type(x, np.float32)
    size = x.shape[axis]
    if not size:
        raise NegativeSizeError(f"scipy.fft: axis {axis} of {x.aval.str_short()} has no elements.")
    # Twice the orthogonal scale inverts the sums; once if the transform was orthogonal.
    scale = _ortho(size) ** (1 if norm == "ortho" else 2) * 2 * size
    x = x * _along(scale, x, axis)
    spectrum = _turned(lax.complex(x, lax.full_like(x, 0)), axis, 1)
    values = lax.real(fourier.ifft(spectrum, axis=axis))
    half = -(-size // 2)
    even = lax.slice_in_dim(values, 0, half, axis=axis)
    odd = lax.rev(lax.slice_in_dim(values, half, None, axis=axis), (axis,))
    # Interleave: dilate each by one, then add.
    zero = scalar(0, values)

    def spread(v: Operand, low: int) -> Operand:
        inner = 1 if v.shape[axis] > 1 else 0
        high = size - low - (2 * v.shape[axis] - 1 if v.shape[axis] else 0)
        widths = [(0, 0, 0)] * v.ndim
        widths[axis] = (low, high, inner)
        return lax.pad(v, zero, widths)

    return spread(even, 0) + spread(odd, 1) if size > 1 else even


def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """Discrete cosine transform of type 2 along an axis.

    Args:
        x: the array.
        type: 2.
        n: size of the transformed axis: the array is cut, or padded with zeros.
        axis: along which.
        norm: ``"backward"``, or ``"ortho"`` for an orthogonal transform.

    Raises:
        NotImplementedError: another type.
        ValueError: another norm.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.fft import dct
        >>> dct(jnp.ones(2)).round(3)
        Array([4., 0.], dtype=float32)
    """
    x = _checked("dct", x, type, norm)
    axis = canonical_axis(axis, x.ndim)
    return _dct(x if n is None else _resized(x, {axis: operator.index(n)}), axis, norm)


def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """Inverse of :func:`dct`.

    Example:
        >>> from plugjax.scipy import fft
        >>> import plugjax.numpy as jnp
        >>> jnp.round(fft.idct(fft.dct(jnp.array([1.0, 2.0]))), 3)
        Array([1., 2.], dtype=float32)
    """
    x = _checked("idct", x, type, norm)
    axis = canonical_axis(axis, x.ndim)
    return _idct(x if n is None else _resized(x, {axis: operator.index(n)}), axis, norm)


def _axes(
    x: Operand, s: Sequence[int] | None, axes: Sequence[int] | None
) -> tuple[Operand, tuple[int, ...]]:
    given: Any = s if s is None or hasattr(s, "__iter__") else [s]
    sizes = None if given is None else [operator.index(n) for n in given]
    if sizes is not None and len(sizes) > x.ndim:
        raise ValueError(
            f"scipy.fft: an array of {x.ndim} axes has no use for {len(sizes)} sizes s."
        )
    if axes is not None:
        chosen = canonical_axes(axes, x.ndim)
    else:
        chosen = tuple(range(x.ndim - (x.ndim if sizes is None else len(sizes)), x.ndim))
    if sizes is not None:
        x = _resized(x, dict(zip(chosen, sizes, strict=False)))
    return x, chosen


def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Discrete cosine transform of type 2 along several axes.

    Args:
        x: the array.
        type: 2.
        s: sizes of the transformed axes.
        axes: along which; by default all, or as many of the last as ``s`` says.
        norm: ``"backward"`` or ``"ortho"``.

    Example:
        >>> from plugjax.scipy import fft
        >>> import plugjax.numpy as jnp
        >>> jnp.round(fft.dctn(jnp.ones((2, 2))), 3)
        Array([[16.,  0.],
               [ 0.,  0.]], dtype=float32)
    """
    x, chosen = _axes(_checked("dctn", x, type, norm), s, axes)
    for axis in chosen:
        x = _dct(x, axis, norm)
    return x


def idctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Inverse of :func:`dctn`.

    Example:
        >>> from plugjax.scipy import fft
        >>> import plugjax.numpy as jnp
        >>> jnp.round(fft.idctn(fft.dctn(jnp.ones((2, 2)))), 3)
        Array([[1., 1.],
               [1., 1.]], dtype=float32)
    """
    x, chosen = _axes(_checked("idctn", x, type, norm), s, axes)
    for axis in chosen:
        x = _idct(x, axis, norm)
    return x


publish(globals(), __all__)
