"""Discrete Fourier transforms: the names of ``jax.numpy.fft``.

Transforms of reals keep one of each pair of conjugate values. ``norm`` says which direction is divided by the size: ``"backward"``
(the default) the inverse, ``"forward"`` the other, ``"ortho"`` each by its root.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.backend import DeviceLike
from plugjax.extend.core import Array
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.transforms import publish
from plugjax.numpy.creation import arange, array
from plugjax.numpy.manipulation import moveaxis
from plugjax.numpy.promotion import ArrayLike, as_operand, canonical_dtype, scalar, to_inexact
from plugjax.numpy.tiling import roll

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2", "irfftn",
    "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_FFT, _IFFT, _RFFT, _IRFFT = lax.FftType


def _transform(
    name: str,
    kind: lax.FftType,
    a: ArrayLike,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str | None,
) -> Array:
    x = as_operand(f"fft.{name}", a)
    if s is not None:
        s = tuple(operator.index(n) for n in s)
        if any(n <= 0 for n in s):
            raise ValueError(f"fft.{name}: s holds positive sizes, got {s}.")
        if axes is not None and len(s) != len(axes):
            raise ValueError(f"fft.{name}: s and axes differ in length, {len(s)} and {len(axes)}.")
    rank = x.ndim if axes is None and s is None else len(s if axes is None else axes)  # type: ignore[arg-type]  # one is given
    chosen = tuple(range(x.ndim - rank, x.ndim)) if axes is None else tuple(axes)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"fft.{name}: an axis comes twice in {chosen}.")
    inside = all(-x.ndim <= axis < x.ndim for axis in chosen)
    if inside and len({axis % x.ndim for axis in chosen}) < len(chosen):
        raise TypeError(f"fft.{name}: an axis has two names in {chosen}.")
    last = tuple(range(x.ndim - rank, x.ndim))
    x = moveaxis(x, chosen, last)
    if s is None:
        s = x.shape[x.ndim - rank :]
        if kind is _IRFFT and s:
            s = (*s[:-1], max(0, 2 * (s[-1] - 1)))
    else:
        held = (*s[:-1], s[-1] // 2 + 1) if kind is _IRFFT and s else s
        # Cut, or padded with zeros.
        widths = [
            (0, new - old, 0) for new, old in zip(held, x.shape[x.ndim - rank :], strict=True)
        ]
        x = lax.pad(x, scalar(0, x), [(0, 0, 0)] * (x.ndim - rank) + widths)
    if kind is _IRFFT and s and not s[-1]:
        # Half of a transform without elements holds one element; the inverse returns none.
        found = lax.full((*x.shape[:-1], 0), 0, _real_dtype(x.dtype))
    else:
        found = _over_axes(x, kind, s)
    if norm is not None:
        # `hfft` and `ihfft` use the transform of the opposite direction.
        found = _normalized(found, math.prod(s), norm, inverse=name.startswith("i"))
    return moveaxis(found, last, chosen)


def _real_dtype(dtype: DType) -> DType:
    return dtypes.canonicalize(dtypes.FLOAT64 if dtype.name in _WIDE else dtypes.FLOAT32)


_WIDE = ("int64", "uint64", "float64", "complex128")


def _over_axes(x: Array, kind: lax.FftType, s: tuple[int, ...]) -> Array:
    """A transform over the last axes, three at a time."""
    if len(s) <= 3:
        return lax.fft(x, kind, s)
    ahead = tuple(range(x.ndim - len(s), x.ndim - 3))
    behind = tuple(range(x.ndim - len(s) + 3, x.ndim))
    if kind in (_FFT, _RFFT):
        x = lax.fft(x, kind, s[-3:])
        return moveaxis(_over_axes(moveaxis(x, ahead, behind), _FFT, s[:-3]), behind, ahead)
    x = moveaxis(_over_axes(moveaxis(x, ahead, behind), _IFFT, s[:-3]), behind, ahead)
    return lax.fft(x, kind, s[-3:])


def _normalized(x: Array, size: int, norm: str, *, inverse: bool) -> Array:
    if norm == "backward":
        return x
    if norm not in ("ortho", "forward"):
        raise ValueError(f"fft: norm is 'backward', 'forward' or 'ortho', got {norm}.")
    size = max(size, 1)
    factor = math.sqrt(size) if norm == "ortho" else float(size)
    return x * scalar(factor if inverse else 1 / factor, x)


def _check_axis(name: str, axis: Any) -> None:
    if isinstance(axis, (list, tuple)):
        raise ValueError(
            f"fft.{name} transforms along one axis, got {axis!r}. For several use fft.{name}n."
        )


def _one_axis(
    name: str, kind: lax.FftType, a: ArrayLike, n: int | None, axis: Any, norm: str | None
) -> Array:
    _check_axis(name, axis)
    return _transform(
        name, kind, a, None if n is None else [n], None if axis is None else [axis], norm
    )


def _two_axes(
    name: str, kind: lax.FftType, a: ArrayLike, s: Any, axes: Sequence[int], norm: str | None
) -> Array:
    if len(axes) != 2:
        raise ValueError(f"fft.{name} transforms along two axes, got {axes!r}.")
    return _transform(name, kind, a, s, axes, norm)


def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Fourier transform along an axis.

    Args:
        a: the array.
        n: size of the transformed axis: the array is cut, or padded with zeros.
        axis: along which.
        norm: ``"backward"``, ``"ortho"`` or ``"forward"``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.fft(jnp.array([1.0, 0.0, 0.0, 0.0]))
        Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one_axis("fft", _FFT, a, n, axis, norm)


def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Inverse of :func:`fft`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.ifft(jnp.array([2.0, 0.0]))
        Array([1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one_axis("ifft", _IFFT, a, n, axis, norm)


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Fourier transform of a real array along an axis: the first half of it.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.rfft(jnp.ones(4))
        Array([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """
    return _one_axis("rfft", _RFFT, a, n, axis, norm)


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Inverse of :func:`rfft`; ``n`` is the size of the result, an even one by default.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.irfft(jnp.array([2.0, 0.0]))
        Array([1., 1.], dtype=float32)
    """
    return _one_axis("irfft", _IRFFT, a, n, axis, norm)


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Real Fourier transform of a Hermitian array, of which the first half is given.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.hfft(jnp.array([1.0, 0.0]))
        Array([1., 1.], dtype=float32)
    """
    _check_axis("hfft", axis)
    x = lax.conj(to_inexact("hfft", a))
    size = (x.shape[axis] - 1) * 2 if n is None else n
    return _one_axis("hfft", _IRFFT, x, n, axis, norm) * size


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Inverse of :func:`hfft`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.ihfft(jnp.array([1.0, 1.0]))
        Array([1.+0.j, 0.+0.j], dtype=complex64)
    """
    _check_axis("ihfft", axis)
    x = as_operand("ihfft", a)
    size = x.shape[axis] if n is None else n
    return lax.conj(_one_axis("ihfft", _RFFT, x, n, axis, norm)) * (1 / size)


def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Fourier transform along two axes; arguments as of :func:`fftn`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.fft2(jnp.ones((2, 2)))
        Array([[4.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _two_axes("fft2", _FFT, a, s, axes, norm)


def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Inverse of :func:`fft2`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.ifft2(jnp.full((2, 2), 4.0))
        Array([[4.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _two_axes("ifft2", _IFFT, a, s, axes, norm)


def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Fourier transform of a real array along two axes: half of it along the last.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.rfft2(jnp.ones((2, 2)))
        Array([[4.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _two_axes("rfft2", _RFFT, a, s, axes, norm)


def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Inverse of :func:`rfft2`; ``s`` are sizes of the result.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.irfft2(jnp.ones((2, 2)))
        Array([[1., 0.],
               [0., 0.]], dtype=float32)
    """
    return _two_axes("irfft2", _IRFFT, a, s, axes, norm)


def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Fourier transform along several axes.

    Args:
        a: the array.
        s: sizes of the transformed axes: the array is cut, or padded with zeros.
        axes: along which; by default all, or as many of the last as ``s`` says.
        norm: ``"backward"``, ``"ortho"`` or ``"forward"``.

    Raises:
        ValueError: sizes that are not positive, axes that repeat, or different numbers of sizes and axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.fftn(jnp.ones((2, 2)))
        Array([[4.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _transform("fftn", _FFT, a, s, axes, norm)


def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Inverse of :func:`fftn`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.ifftn(jnp.full((2, 2), 4.0))
        Array([[4.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _transform("ifftn", _IFFT, a, s, axes, norm)


def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Fourier transform of a real array along several axes: half of it along the last.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.rfftn(jnp.ones((2, 2)))
        Array([[4.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _transform("rfftn", _RFFT, a, s, axes, norm)


def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Inverse of :func:`rfftn`; ``s`` are sizes of the result.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.irfftn(jnp.ones((2, 2)))
        Array([[1., 0.],
               [0., 0.]], dtype=float32)
    """
    return _transform("irfftn", _IRFFT, a, s, axes, norm)


def _spread(name: str, n: Any, d: Any) -> Any:
    """The range of positions, one over the step of frequencies."""
    if isinstance(n, (list, tuple)):
        raise ValueError(f"fft.{name}: n is one integer, got {n}.")
    if isinstance(d, (list, tuple)):
        raise ValueError(f"fft.{name}: d is one number, got {d}.")
    return d * n


def fftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Array:
    """Frequencies of the values of :func:`fft`.

    Units:
        d: time between samples; the result is in cycles per unit of it.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.fftfreq(4)
        Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    spread = _spread("fftfreq", n, d)
    wanted = _frequency_dtype("fftfreq", dtype)
    part = np.zeros((), dtypes.to_inexact(wanted)).real.dtype
    numbers = (np.arange(n) + n // 2) % n - n // 2
    found = array(numbers, dtype=part, device=device) / array(spread, dtype=part, device=device)
    return found.astype(wanted)


def _frequency_dtype(who: str, dtype: DTypeLike | None) -> DType:
    if dtype is not None and not dtypes.has_arrays(dtype):
        raise ValueError(f"{who}: frequencies are numbers, got dtype {dtype!r}.")
    return canonical_dtype(who, float if dtype is None else dtype)


def rfftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Array:
    """Frequencies of the values of :func:`rfft`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.rfftfreq(4)
        Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    spread = _spread("rfftfreq", n, d)
    wanted = canonical_dtype("rfftfreq", float if dtype is None else dtype)
    numbers = arange(n // 2 + 1, dtype=wanted, device=device)
    return numbers / array(spread, dtype=wanted, device=device)


def _shifted(who: str, x: ArrayLike, axes: Any, sign: int) -> Array:
    x = as_operand(who, x)
    if axes is None:
        axes = tuple(range(x.ndim))
    elif isinstance(axes, int):
        axes = (axes,)
    # The shift is half of the size, rounded down; the inverse shifts back by as much.
    return roll(x, [sign * (x.shape[i] // 2) for i in axes], tuple(axes))


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Frequency 0 moved to the middle of axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.fftshift(jnp.fft.fftfreq(4))
        Array([-0.5 , -0.25,  0.  ,  0.25], dtype=float32)
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Inverse of :func:`fftshift`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fft.ifftshift(jnp.arange(4))
        Array([2, 3, 0, 1], dtype=int32)
    """
    return _shifted("ifftshift", x, axes, -1)


publish(globals(), __all__)
