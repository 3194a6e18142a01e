"""Convolution and correlation of arrays of any rank by sums of products.

A correlation is the convolution with the array reversed and conjugated.
"""

from __future__ import annotations

from typing import Any

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend.core import Array, aval_of
from plugjax.lax.dot import PrecisionLike
from plugjax.numpy.promotion import ArrayLike, Operand, as_operand, same_dtype
from plugjax.scipy.signal.fourier import check_mode, contains, fftconvolve


def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Convolution of two arrays of one rank.

    Args:
        in1: the array.
        in2: the other array.
        mode: ``"full"``, ``"same"`` (the central part, as large as ``in1``), or ``"valid"`` (complete overlap).
        method: ``"direct"``, ``"fft"``, or ``"auto"``, which is direct.
        precision: as of ``lax.conv_general_dilated``.

    Raises:
        ValueError: ranks or sizes that do not fit, empty arrays, an unknown mode or method.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.signal import convolve
        >>> convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]), mode="same")
        Array([1., 3., 5.], dtype=float32)
    """
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    if method not in ("auto", "direct"):
        raise ValueError(f"convolve: method is 'auto', 'fft' or 'direct', got {method!r}.")
    x, y = same_dtype("convolve", in1, in2, inexact=True)
    return _convolved(x, y, mode, precision)


def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Cross-correlation of two arrays of one rank; arguments as of :func:`convolve`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.signal import correlate
        >>> correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0]), mode="valid")
        Array([2., 3.], dtype=float32)
    """
    return convolve(in1, _turned(as_operand("correlate", in2)), mode, method, precision)


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Convolution of two matrices.

    Args:
        in1: the matrix.
        in2: the other matrix.
        mode: as of :func:`convolve`.
        boundary: ``"fill"``.
        fillvalue: 0.
        precision: as of ``lax.conv_general_dilated``.

    Raises:
        ValueError: other ranks, sizes that do not fit, empty arrays, or an unknown mode.
        NotImplementedError: another boundary.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.signal import convolve2d
        >>> convolve2d(jnp.ones((2, 2)), jnp.ones((2, 2)), mode="valid")
        Array([[4.]], dtype=float32)
    """
    x, y = _matrices("convolve2d", in1, in2, boundary, fillvalue)
    return _convolved(x, y, mode, precision)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Cross-correlation of two matrices; arguments as of :func:`convolve2d`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.signal import correlate2d
        >>> correlate2d(jnp.ones((2, 2)), jnp.ones((2, 2)), mode="valid")
        Array([[4.]], dtype=float32)
    """
    x, y = _matrices("correlate2d", in1, in2, boundary, fillvalue)
    if mode == "same":
        # If the size of in2 is even there are two centers; this one belongs to the reversed arrays.
        return jnp.flip(_convolved(jnp.flip(x), jnp.conj(y), mode, precision))
    found = _convolved(x, _turned(y), mode, precision)
    # As in SciPy, complete overlap with a smaller in1 conjugates in1, not in2.
    return jnp.conj(found) if mode == "valid" and not contains(x.shape, y.shape) else found


def _turned(x: Operand) -> Any:
    return jnp.flip(jnp.conj(x))


def _matrices(
    who: str, in1: ArrayLike, in2: ArrayLike, boundary: str, fillvalue: float
) -> list[Operand]:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(
            f"{who} continues by zeros only. Leave boundary='fill' and fillvalue=0."
        )
    if aval_of(in1).ndim != 2 or aval_of(in2).ndim != 2:
        raise ValueError(f"{who} takes two matrices.")
    return same_dtype(who, in1, in2, inexact=True)


def _convolved(x: Operand, y: Operand, mode: str, precision: Any) -> Array:
    check_mode(mode)
    if x.ndim != y.ndim:
        raise ValueError("convolution: in1 and in2 need one rank.")
    if not (x.size and y.size):
        raise ValueError(
            f"convolution needs arrays with elements, got shapes {x.shape} and {y.shape}."
        )
    sizes = x.shape
    if not contains(x.shape, y.shape):
        if not contains(y.shape, x.shape):
            raise ValueError(
                "convolution: either in1 or in2 needs to be the larger one along all axes."
            )
        x, y = y, x
    pads = {
        "full": [(n - 1, n - 1) for n in y.shape],
        "valid": [(0, 0)] * y.ndim,
        # The middle of the full result, of the size of the first operand.
        "same": [
            (n - 1 - (m + n - 1 - size) // 2, size - m + (m + n - 1 - size) // 2)
            for m, n, size in zip(x.shape, y.shape, sizes, strict=True)
        ],
    }[mode]
    found = lax.conv_general_dilated(
        x[None, None], jnp.flip(y)[None, None], (1,) * y.ndim, pads, precision=precision
    )
    return found[0, 0]
