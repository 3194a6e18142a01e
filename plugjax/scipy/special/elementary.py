"""Functions of logarithms and exponentials: logits, entropies, power transformations."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.calls import custom_jvp
from plugjax.extend.core import Array
from plugjax.nn import normalization
from plugjax.numpy.promotion import ArrayLike, promote_inexact, scalar, to_inexact
from plugjax.numpy.reductions import AxisArg
from plugjax.numpy.selection import where
from plugjax.scipy.special.operands import floating, one_floating, one_inexact

__all__ = [
    "boxcox", "boxcox1p", "entr", "expit", "kl_div", "log_softmax", "logit", "rel_entr", "softmax",
    "xlog1py", "xlogy",
]  # fmt: skip


@custom_jvp
def logit(x: ArrayLike) -> Array:
    """``log(p / (1 - p))``.

    Units:
        result: nats.

    Example:
        >>> from plugjax.scipy import special
        >>> special.logit(0.75).round(3)
        Array(1.099, dtype=float32, weak_type=True)
    """
    x = to_inexact("logit", x)
    return lax.log(lax.div(x, lax.sub(scalar(1, x), x)))


logit.defjvps(lambda x_dot, y, x: x_dot / (x * (1 - x)))


def expit(x: ArrayLike) -> Array:
    """``1 / (1 + exp(-x))``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.expit(jnp.array([0.0]))
        Array([0.5], dtype=float32)
    """
    return lax.logistic(one_inexact("expit", x))


def softmax(x: ArrayLike, /, *, axis: AxisArg = None) -> Array:
    """``exp(x) / sum(exp(x))`` along an axis or several, or over all elements.

    Units:
        x: logits in nats.

    Raises:
        TypeError: ``x`` is of bools.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.softmax(jnp.zeros((2, 2)))
        Array([[0.25, 0.25],
               [0.25, 0.25]], dtype=float32)
    """
    return normalization.softmax(x, axis)


def log_softmax(x: ArrayLike, /, *, axis: AxisArg = None) -> Array:
    """Logarithm of :func:`softmax`.

    Units:
        result: nats.

    Raises:
        TypeError: ``x`` is of bools.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.log_softmax(jnp.zeros((2, 2)), axis=0).round(3)
        Array([[-0.693, -0.693],
               [-0.693, -0.693]], dtype=float32)
    """
    return normalization.log_softmax(x, axis)


@custom_jvp
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """``x * log(y)``, and 0 where ``x`` is 0.

    Example:
        >>> from plugjax.scipy import special
        >>> special.xlogy(2.0, 3.0).round(3)
        Array(2.197, dtype=float32, weak_type=True)
    """
    x, y = promote_inexact("xlogy", x, y)
    return where((x != 0) | (y != y), lax.mul(x, lax.log(y)), 0.0)


@xlogy.defjvp
def _xlogy_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x, y), (x_dot, y_dot) = primals, tangents
    found = xlogy(x, y)
    return found, (x_dot * lax.log(y) + y_dot * x / y).astype(found.dtype)


@custom_jvp
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """``x * log(1 + y)``, and 0 where ``x`` is 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.xlog1py(jnp.array([0.0, 2.0]), jnp.array([-1.0, 1.0])).round(3)
        Array([0.   , 1.386], dtype=float32)
    """
    x, y = promote_inexact("xlog1py", x, y)
    return where((x != 0) | (y != y), lax.mul(x, lax.log1p(y)), 0.0)


@xlog1py.defjvp
def _xlog1py_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x, y), (x_dot, y_dot) = primals, tangents
    found = xlog1py(x, y)
    return found, (x_dot * lax.log1p(y) + y_dot * x / (1 + y)).astype(found.dtype)


@custom_jvp
def _xlogx(x: Array) -> Array:
    return xlogy(x, x)


_xlogx.defjvps(lambda x_dot, y, x: x_dot * (lax.log(x) + 1))


def entr(x: ArrayLike) -> Array:
    """``-x * log(x)``, 0 at 0, and -inf below.

    Units:
        result: nats.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.entr(jnp.array([0.0, 0.5])).round(3)
        Array([-0.   ,  0.347], dtype=float32)
    """
    x = one_floating("entr", x)
    return where(x < 0, -np.inf, -_xlogx(x))


def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """``p * log(p / q)``, 0 where ``p`` is 0, and inf where it is undefined.

    Units:
        result: nats.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.rel_entr(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0])).round(3)
        Array([0.   , 1.386], dtype=float32)
    """
    p, q = floating("rel_entr", p, q)
    positive = (p > 0) & (q > 0)
    x, y = where(positive, p, 1.0), where(positive, q, 1.0)
    outside = where((p == 0) & (q >= 0), scalar(0, p), np.inf)
    return where(positive, _xlogx(x) - xlogy(x, y), outside)


def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """``p * log(p / q) - p + q``, as :func:`rel_entr` at the edges.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.kl_div(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0])).round(3)
        Array([0.   , 0.386], dtype=float32)
    """
    p, q = floating("kl_div", p, q)
    return rel_entr(p, q) - p + q


def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """``(x**lmbda - 1) / lmbda``, and its limit ``log(x)`` at 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.boxcox(jnp.array([1.0, 3.0]), 1.0)
        Array([0., 2.], dtype=float32)
    """
    x, power = promote_inexact("boxcox", x, lmbda)
    return _boxcox(lax.log(x), power)


def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """:func:`boxcox` of ``1 + x``, accurate near 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy import special
        >>> special.boxcox1p(jnp.array([0.0, 2.0]), 1.0)
        Array([0., 2.], dtype=float32)
    """
    x, power = promote_inexact("boxcox1p", x, lmbda)
    return _boxcox(lax.log1p(x), power)


def _boxcox(logarithm: Array, power: Array) -> Array:
    safe = where(power == 0, 1.0, power)
    return where(power == 0, logarithm, lax.expm1(safe * logarithm) / safe)
