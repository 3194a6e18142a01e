"""Determinants.

The derivative of log |det A| is tr(A^-1 A_dot). That of det A is tr(adj(A) A_dot), which is defined for singular
matrices too; the adjugate comes from the LU factors, without a division by the last pivot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from plugjax import lax
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.lax.linalg.householder import geqrf
from plugjax.lax.linalg.lu import lu
from plugjax.lax.linalg.matrices import diagonal, rows_at
from plugjax.lax.linalg.solve import solve
from plugjax.lax.linalg.triangular_solve import triangular_solve
from plugjax.numpy.creation import ones, zeros_like
from plugjax.numpy.cumulative import cumprod
from plugjax.numpy.linalg.operands import inexact, square_sizes
from plugjax.numpy.logic import isfinite
from plugjax.numpy.padding import pad
from plugjax.numpy.promotion import ArrayLike
from plugjax.numpy.reductions import all as all_, any as any_, count_nonzero, prod, sum as sum_
from plugjax.numpy.selection import where


class SlogdetResult(NamedTuple):
    """Sign of a determinant, and logarithm of its absolute value."""

    sign: Array
    logabsdet: Array


def _real(x: Any) -> Any:
    return lax.real(x) if x.dtype.kind == "c" else x


def _exchanges(pivots: Any, dtype: Any) -> Any:
    """1 or -1: the sign of a sequence of row exchanges."""
    places = lax.broadcasted_iota(pivots.dtype, pivots.shape, pivots.ndim - 1)
    odd = count_nonzero(pivots != places, axis=-1) % 2
    return (1 - 2 * odd).astype(dtype)


def _trace(x: Any) -> Any:
    return sum_(diagonal(x), axis=-1)


@custom_jvp
def _slogdet_lu(x: Any) -> tuple[Any, Any]:
    factors, pivots, _ = lu(x)
    pivot = diagonal(factors)
    size = lax.abs(pivot)
    zero = any_(size == 0, axis=-1)
    phases = where(size == 0, 1, pivot / size.astype(pivot.dtype))
    sign = prod(phases, axis=-1) * _exchanges(pivots, pivot.dtype)
    log = sum_(lax.log(size), axis=-1)
    return where(zero, 0, sign).astype(pivot.dtype), where(zero, -float("inf"), log)


@custom_jvp
def _slogdet_qr(x: Any) -> tuple[Any, Any]:
    if x.dtype.kind == "c":
        raise NotImplementedError("linalg.slogdet: method='qr' is for real matrices; use 'lu'.")
    packed, taus = geqrf(x)
    lead = diagonal(packed)
    turned = where(taus[..., : x.shape[-1] - 1] != 0, -1, 1)
    sign = prod(lax.sign(lead), axis=-1) * prod(turned, axis=-1).astype(lead.dtype)
    return sign, sum_(lax.log(lax.abs(lead)), axis=-1)


@custom_jvp
def _slogdet_small(x: Any) -> tuple[Any, Any]:
    value = x[..., 0, 0] if x.shape[-1] == 1 else _two(x)
    return lax.sign(value), lax.log(lax.abs(value))


def _slogdet_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    return _sign_and_log(slogdet(primals[0]), _trace(solve(primals[0], tangents[0])))


def _slogdet_small_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    if x.shape[-1] == 1:
        change = t[..., 0, 0] / x[..., 0, 0]
    else:
        change = (
            t[..., 0, 0] * x[..., 1, 1]
            - t[..., 0, 1] * x[..., 1, 0]
            - t[..., 1, 0] * x[..., 0, 1]
            + t[..., 1, 1] * x[..., 0, 0]
        ) / _two(x)
    return _sign_and_log(_slogdet_small(x), change)


def _sign_and_log(out: tuple[Any, Any], change: Any) -> tuple[Any, Any]:
    """Derivatives of sign and logarithm from that of the complex logarithm."""
    sign, log = out
    if sign.dtype.kind != "c":
        return (sign, log), (zeros_like(sign), change)
    turn = (change - lax.real(change).astype(change.dtype)) * sign
    return (sign, log), (turn, lax.real(change))


_slogdet_lu.defjvp(_slogdet_jvp)
_slogdet_qr.defjvp(_slogdet_jvp)
_slogdet_small.defjvp(_slogdet_small_jvp)


def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Sign of the determinant, and logarithm of its absolute value.

    Shapes:
        a: ``[..., n, n]`` -> ``[...]`` twice; the sign has the dtype of ``a``, the logarithm is real.

    Args:
        a: the matrices.
        method: ``"lu"`` (as ``None``) or, for real matrices, ``"qr"``.

    Raises:
        ValueError: matrices that are not square, or another method.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.slogdet(jnp.array([[0.0, 1.0], [1.0, 0.0]])).sign
        Array(-1., dtype=float32)
    """
    (x,) = inexact("linalg.slogdet", a)
    square_sizes("slogdet()", x)
    if method not in (None, "lu", "qr"):
        raise ValueError(f"linalg.slogdet knows method 'lu' (as `None`) and 'qr', got '{method}'.")
    if method == "qr":
        return SlogdetResult(*_slogdet_qr(x))
    return SlogdetResult(*(_slogdet_small(x) if x.shape[-1] in (1, 2) else _slogdet_lu(x)))


def _two(x: Any) -> Any:
    return x[..., 0, 0] * x[..., 1, 1] - x[..., 0, 1] * x[..., 1, 0]


def _three(x: Any) -> Any:
    """Determinant of 3x3 matrices, by expansion along the first row."""
    minors = [
        x[..., 1, j] * x[..., 2, k] - x[..., 1, k] * x[..., 2, j]
        for j, k in ((1, 2), (0, 2), (0, 1))
    ]
    return x[..., 0, 0] * minors[0] - x[..., 0, 1] * minors[1] + x[..., 0, 2] * minors[2]


@custom_jvp
def _det(x: Any) -> Any:
    sign, log = slogdet(x)
    return sign * lax.exp(log).astype(sign.dtype)


@_det.defjvp
def _det_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    value, product = _adjugate_product(primals[0], tangents[0])
    return value, _trace(product)


def _adjugate_product(a: Any, b: Any) -> tuple[Any, Any]:
    """``det(a)`` and ``adj(a) b``, for matrices of rank n - 1 at least; zeros for lower ranks.

    adj(A) = det(A) U^-1 L^-1 P: det(A) scales the rows, so that the last pivot, which may be zero, cancels.
    """
    size = a.shape[-1]
    if size == 1:
        return a[..., 0, 0], b
    factors, pivots, permutation = lu(a)
    products = cumprod(diagonal(factors), axis=-1) * _exchanges(pivots, a.dtype)[..., None]
    value = products[..., -1]
    last = (1 / products[..., -2])[..., None, None]
    corner = [(0, 0)] * (a.ndim - 2) + [(size - 1, 0)] * 2
    inside = pad(ones((*a.shape[:-2], 1, 1), bool), corner)
    factors = where(inside, last, factors)
    probe = triangular_solve(factors, ones(a.shape[:-1], a.dtype), left_side=True)
    good = all_(isfinite(probe), axis=-1)[..., None, None]
    right = where(good, rows_at(b, permutation), 0)
    right = triangular_solve(factors, right, left_side=True, lower=True, unit_diagonal=True)
    at_last = lax.broadcasted_iota(permutation.dtype, (size, 1), 0) == size - 1
    right = where(at_last, right, right * value[..., None, None])
    found = triangular_solve(factors, right, left_side=True)
    return value, where(good, found, 0)


def det(a: ArrayLike) -> Array:
    """Determinant, ``[..., n, n]`` -> ``[...]``.

    Raises:
        ValueError: matrices that are not square.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
        Array(-2., dtype=float32)
    """
    (x,) = inexact("linalg.det", a)
    square_sizes("det()", x)
    found: Array = {2: _two, 3: _three}.get(x.shape[-1], _det)(x)
    return found
