"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import Any

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.dtypes import DTypeLike
from plugjax.lax.dot import PrecisionLike
from plugjax.numpy.promotion import ArrayLike, Operand, canonical_dtype, same_dtype

__all__ = ["convolve", "correlate"]


def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolution of two vectors.

    Args:
        a: ``[m]``.
        v: ``[n]``.
        mode: ``"full"`` (``m + n - 1`` values), ``"same"`` (as many as the longer has), or ``"valid"`` (complete overlap).
        precision: as of ``lax.conv_general_dilated``.
        preferred_element_type: dtype of the sums; integers then stay integers.

    Raises:
        ValueError: not vectors, empty ones, or an unknown mode.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]))
        Array([1., 3., 5., 3.], dtype=float32)
    """
    x, y = _vectors("convolve", a, v, preferred_element_type)
    if x.shape[0] < y.shape[0]:
        x, y = y, x
    return _slid(x, lax.rev(y, (0,)), mode, precision, preferred_element_type)


def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Correlation of two vectors: sums of products of ``a`` with the conjugate of ``v`` shifted. See :func:`convolve`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0]))
        Array([2., 3.], dtype=float32)
    """
    x, y = _vectors("correlate", a, v, preferred_element_type)
    if y.dtype.kind == "c":
        y = lax.conj(y)
    if x.shape[0] < y.shape[0]:
        return lax.rev(_slid(y, x, mode, precision, preferred_element_type), (0,))
    return _slid(x, y, mode, precision, preferred_element_type)


def _vectors(
    who: str, a: ArrayLike, v: ArrayLike, preferred: DTypeLike | None
) -> tuple[Operand, Operand]:
    x, y = same_dtype(who, a, v, inexact=preferred is None)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"{who} takes two vectors; scipy.signal.{who} takes more axes.")
    if not x.shape[0] or not y.shape[0]:
        raise ValueError(f"{who}: an empty vector came, of shapes {x.shape} and {y.shape}.")
    return x, y


def _slid(
    x: Operand, window: Operand, mode: str, precision: Any, preferred: DTypeLike | None
) -> Array:
    size = window.shape[0]
    pads = {
        "valid": (0, 0),
        "same": (size // 2, size - size // 2 - 1),
        "full": (size - 1, size - 1),
    }
    if mode not in pads:
        raise ValueError(
            f"convolve and correlate know mode 'full', 'same' and 'valid', got {mode!r}."
        )
    found = lax.conv_general_dilated(
        lax.reshape(x, (1, 1, *x.shape)),
        lax.reshape(window, (1, 1, size)),
        (1,),
        [pads[mode]],
        precision=precision,
        preferred_element_type=None if preferred is None else canonical_dtype("conv", preferred),
    )
    return lax.reshape(found, found.shape[2:])
