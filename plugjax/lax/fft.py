"""Discrete Fourier transforms over the last axes.

    FFT: y_k = sum_j x_j exp(-2 pi i j k / n);  IFFT: the same with +i, divided by n;
    RFFT: the first n // 2 + 1 values of FFT of a real x;  IRFFT: the real x whose RFFT is given.

All are linear. FFT and IFFT are symmetric matrices, so each is its own transpose. RFFT keeps one of each pair of conjugate values, and
IRFFT counts both: their transposes are each other's, with a factor of 2 at values that stand for two.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import Array, ArrayLike, Primitive, ShapedArray, aval_of, moveaxis
from plugjax.extend.dtypes import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, DType
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule
from plugjax.extend.transforms import Axis
from plugjax.lax.arithmetic import add, div, mul, sub
from plugjax.lax.axes import static_ints
from plugjax.lax.complex import complex, conj, imag, real
from plugjax.lax.conversion import convert_element_type
from plugjax.lax.dot import dot_general
from plugjax.lax.families import linear
from plugjax.lax.joining import concatenate, pad
from plugjax.lax.promotion import join
from plugjax.lax.shape import broadcast_in_dim, rev
from plugjax.lax.slicing import slice_in_dim

rules = RuleSet(__name__)

fft_p = Primitive("fft")

_REAL = {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}
_COMPLEX = {part: whole for whole, part in _REAL.items()}


class FftType(enum.IntEnum):
    """The kind of a transform."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """Discrete Fourier transform over the last axes.

    Args:
        x: an array; made floating for RFFT, complex for the others.
        fft_type: a :class:`FftType`, or its name.
        fft_lengths: the sizes of the transform: of the last axes of ``x``, and for IRFFT of those of the result.

    Raises:
        ValueError: an unknown name, shapes that do not fit, or a dtype without a transform.
        TypeError: ``fft_type`` is neither a name nor a type.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.fft(jnp.array([1.0, 0.0, 0.0, 0.0]), "FFT", (4,))
        Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    if isinstance(fft_type, str):
        if fft_type.upper() not in FftType.__members__:
            raise ValueError(
                f"fft: there is no fft_type '{fft_type}'. Choose FFT, IFFT, RFFT or IRFFT."
            )
        kind = FftType[fft_type.upper()]
    elif isinstance(fft_type, FftType):
        kind = fft_type
    else:
        raise TypeError(f"fft: fft_type '{fft_type}' is neither a name nor a lax.FftType.")
    dtype = aval_of(x).dtype
    if kind is FftType.RFFT:
        if dtype.kind == "c":
            raise ValueError(f"fft: RFFT takes real numbers, got {dtype.name}.")
        x = convert_element_type(x, dtypes.canonicalize(dtypes.to_inexact(dtype)))
    else:
        wanted = join([(dtype, False), (COMPLEX64, False)])
        x = convert_element_type(x, wanted)
    lengths = static_ints("fft", "fft_lengths", fft_lengths)
    return fft_p.bind(x, fft_type=kind, fft_lengths=lengths) if lengths else x


@rules.define(abstract_eval, fft_p)
def _fft_aval(x: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> ShapedArray:
    rank = len(fft_lengths)
    if rank > x.ndim:
        raise ValueError(
            f"fft: fft_lengths {fft_lengths} name more axes than there are in shape {x.shape}."
        )
    is_real = fft_type is FftType.RFFT
    if x.dtype not in (_COMPLEX if is_real else _REAL):
        accepted = "float32 or float64" if is_real else "complex64 or complex128"
        raise ValueError(f"fft: {fft_type.name} takes {accepted}, got {x.dtype.name}.")
    lead, last = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    half = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
    checked = (last[:-1], fft_lengths[:-1]) if fft_type is FftType.IRFFT else (last, fft_lengths)
    if checked[0] != checked[1]:
        raise ValueError(
            f"fft: the last axes of shape {x.shape} do not have the sizes of {fft_type.name} with fft_lengths "
            f"{fft_lengths}."
        )
    if is_real:
        return ShapedArray((*lead, *half), _COMPLEX[x.dtype])
    dtype = _REAL[x.dtype] if fft_type is FftType.IRFFT else x.dtype
    return ShapedArray((*lead, *fft_lengths), dtype)


@rules.define(batching_rule, fft_p)
def _fft_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[Any, int]:
    (x,), (bdim,) = args, dims
    return fft_p.bind(moveaxis(x, bdim, 0), **params), 0  # type: ignore[arg-type]  # batched


def _stands_for(n: int, like: Any) -> Any:
    """For each value that RFFT keeps, the number of values of a transform of length ``n`` that it represents."""
    counts = np.full(n // 2 + 1, 2)
    counts[0] = 1
    if n % 2 == 0:
        counts[-1] = 1
    aval = aval_of(like)
    return broadcast_in_dim(counts.astype(aval.dtype), aval.shape, (aval.ndim - 1,))


@linear(rules, fft_p)
def _fft_transpose(
    y_bar: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]
) -> tuple[Any]:
    size = math.prod(fft_lengths)
    n = fft_lengths[-1]
    if fft_type is FftType.RFFT:
        halves = div(conj(y_bar), _stands_for(n, y_bar))
        x_bar = fft_p.bind(halves, fft_type=FftType.IRFFT, fft_lengths=fft_lengths)
        return (mul(x_bar, aval_of(x_bar).dtype.type(size)),)
    if fft_type is FftType.IRFFT:
        spectrum = fft_p.bind(y_bar, fft_type=FftType.RFFT, fft_lengths=fft_lengths)
        scaled = mul(spectrum, _stands_for(n, spectrum))
        # Cotangents pair without conjugation.
        return (conj(div(scaled, aval_of(scaled).dtype.type(size))),)
    return (fft_p.bind(y_bar, fft_type=fft_type, fft_lengths=fft_lengths),)


# Transforms in terms of simpler ones, for machines that lack the others
# ---------------------------------


def axis_by_axis(x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Any:
    """A transform over several axes as one over each; the real one comes next to the real array."""
    first = aval_of(x).ndim - len(fft_lengths)
    outer = FftType.IFFT if fft_type in (FftType.IFFT, FftType.IRFFT) else FftType.FFT
    plan = [(first + i, outer, n) for i, n in enumerate(fft_lengths[:-1])]
    last = (first + len(fft_lengths) - 1, fft_type, fft_lengths[-1])
    plan = [last, *plan] if fft_type is FftType.RFFT else [*plan, last]
    for axis, kind, n in plan:
        moved = moveaxis(x, axis, aval_of(x).ndim - 1)
        found = fft_p.bind(moved, fft_type=kind, fft_lengths=(n,))
        x = moveaxis(found, aval_of(found).ndim - 1, axis)
    return x


def by_matrix(x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Any:
    """A transform over one axis as a product with its matrix."""
    (n,) = fft_lengths
    dtype: DType = aval_of(x).dtype
    part = _REAL.get(dtype, dtype)
    rows = columns = n
    if fft_type is FftType.RFFT:
        columns = n // 2 + 1
    if fft_type is FftType.IRFFT:
        rows = n // 2 + 1
    # Reduce modulo n in integers, so that angles stay small and exact.
    turns = np.outer(np.arange(rows), np.arange(columns)) % n / n
    cosines, sines = np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)
    if fft_type in (FftType.IFFT, FftType.IRFFT):
        cosines, sines = cosines / n, -sines / n
    if fft_type is FftType.IRFFT:
        counts = np.full((rows, 1), 2)
        counts[0] = 1
        if n % 2 == 0:
            counts[-1] = 1
        cosines, sines = cosines * counts, sines * counts
    c, s = cosines.astype(part), sines.astype(part)
    if fft_type is FftType.RFFT:
        return complex(_times(x, c), _times(x, -s))
    re, im = real(x), imag(x)
    y_re = add(_times(re, c), _times(im, s))
    if fft_type is FftType.IRFFT:
        return y_re
    return complex(y_re, sub(_times(im, c), _times(re, s)))


def _times(x: Any, matrix: Any) -> Any:
    return dot_general(x, matrix, (((aval_of(x).ndim - 1,), (0,)), ((), ())))


def by_convolution(x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Any:
    """A transform over one axis by transforms whose sizes are powers of 2 (Bluestein).

    As ``2 j k = j^2 + k^2 - (j - k)^2``, it is a convolution with a chirp, between two products with one.
    """
    (n,) = fft_lengths
    axis = aval_of(x).ndim - 1
    if fft_type is FftType.RFFT:
        x = complex(x, mul(x, aval_of(x).dtype.type(0)))
        found = by_convolution(x, fft_type=FftType.FFT, fft_lengths=fft_lengths)
        return slice_in_dim(found, 0, n // 2 + 1, axis=axis)
    if fft_type is FftType.IRFFT:
        # The other half of the spectrum. The first value, and the middle one of an even length,
        # count as real.
        mirrored = conj(rev(slice_in_dim(x, 1, (n + 1) // 2, axis=axis), (axis,)))
        x = concatenate([x, mirrored], axis)
        return real(by_convolution(x, fft_type=FftType.IFFT, fft_lengths=fft_lengths))
    dtype = aval_of(x).dtype
    sign = -1 if fft_type is FftType.FFT else 1
    # j^2 modulo 2n, in integers.
    chirp = np.exp(sign * 1j * np.pi * (np.arange(n) ** 2 % (2 * n)) / n)
    size = 1 << (2 * n - 2).bit_length()
    kernel = np.zeros(size, np.complex128)
    kernel[:n] = chirp.conj()
    kernel[size - n + 1 :] = chirp[:0:-1].conj()
    spectrum = np.fft.fft(kernel)

    def times(v: Any, factor: Any) -> Any:
        aval = aval_of(v)
        return mul(v, broadcast_in_dim(factor.astype(dtype), aval.shape, (axis,)))

    padding = [(0, 0, 0)] * axis + [(0, size - n, 0)]
    y = pad(times(x, chirp), dtype.type(0), padding)
    y = fft_p.bind(y, fft_type=FftType.FFT, fft_lengths=(size,))
    y = fft_p.bind(times(y, spectrum), fft_type=FftType.IFFT, fft_lengths=(size,))
    scale = 1 if fft_type is FftType.FFT else 1 / n
    return times(slice_in_dim(y, 0, n, axis=axis), chirp * scale)
