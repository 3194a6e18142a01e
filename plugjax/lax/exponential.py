"""Exponential, logarithmic and power primitives, and roots.

``accuracy`` is checked and changes nothing: see ``lax/accuracy.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend import dtypes
from plugjax.extend.core import Array, ArrayLike, Primitive, aval_of
from plugjax.extend.rules import RuleSet
from plugjax.lax.accuracy import Accuracy, check_accuracy
from plugjax.lax.arithmetic import add, div, integer_pow, mul, sub
from plugjax.lax.comparison import bitwise_and, eq, ge, ne
from plugjax.lax.complex import real
from plugjax.lax.families import FLOAT, INEXACT, convert, elementwise, partials, scalar, stretch
from plugjax.lax.selection import select

rules = RuleSet(__name__)

exp_p = Primitive("exp")
exp2_p = Primitive("exp2")
expm1_p = Primitive("expm1")
log_p = Primitive("log")
log1p_p = Primitive("log1p")
sqrt_p = Primitive("sqrt")
rsqrt_p = Primitive("rsqrt")
cbrt_p = Primitive("cbrt")
logistic_p = Primitive("logistic")
pow_p = Primitive("pow")

for _p in (exp_p, exp2_p, expm1_p, log_p, log1p_p, sqrt_p, rsqrt_p, logistic_p, pow_p):
    elementwise(rules, _p, accepts=INEXACT)
elementwise(rules, cbrt_p, accepts=FLOAT)


def exp(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise ``e ** x``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.exp(jnp.array([0.0]))
        Array([1.], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy(accuracy)
    return exp_p.bind(x)


def exp2(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise ``2 ** x``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.exp2(jnp.array([3.0]))
        Array([8.], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy(accuracy)
    return exp2_p.bind(x)


def expm1(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise ``e ** x - 1``, accurate near 0.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.expm1(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 1.718], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy(accuracy)
    return expm1_p.bind(x)


def log(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise natural logarithm, in nats.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.log(jnp.array([1.0, 2.0])).round(3)
        Array([0.   , 0.693], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy(accuracy)
    return log_p.bind(x)


def log1p(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise ``log(1 + x)``, accurate near 0.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.log1p(jnp.array([0.0, 1.0])).round(3)
        Array([0.   , 0.693], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy(accuracy)
    return log1p_p.bind(x)


def sqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise square root; nan for negative reals.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.sqrt(jnp.array([4.0]))
        Array([2.], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy(accuracy)
    return sqrt_p.bind(x)


def rsqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise reciprocal of the square root.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.rsqrt(jnp.array([4.0]))
        Array([0.5], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy(accuracy)
    return rsqrt_p.bind(x)


def cbrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise real cube root.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.round(lax.cbrt(jnp.array([8.0])))
        Array([2.], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy(accuracy)
    return cbrt_p.bind(x)


def logistic(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise logistic function, ``1 / (1 + exp(-x))``.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.logistic(jnp.array([0.0]))
        Array([0.5], dtype=float32)
    """
    # The accuracy is not checked, as in JAX.
    return logistic_p.bind(x)


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise power ``x ** y`` of an inexact ``x``; integers ``y`` are converted to its dtype.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.pow(jnp.array([2.0, 3.0]), 2)
        Array([4., 9.], dtype=float32)
    """
    if dtypes.is_integer(aval_of(y).dtype):
        y = convert(y, aval_of(x).dtype, aval_of(y).weak_type)
    return pow_p.bind(x, y)


def log_add(
    x: Any,
    y: Any,
    power: Callable[[Any], Any] = exp,
    log_of_one_more: Callable[[Any], Any] = log1p,
) -> Any:
    """``log(power(x) + power(y))`` without overflow; the operands have one dtype and broadcast.

    Args:
        x: an operand.
        y: an operand.
        power: the exponential.
        log_of_one_more: the logarithm of 1 plus a number, to the same base.

    Of equal numbers the first counts as larger, in both terms. With ``max``, whose derivative at a tie is the mean,
    second derivatives would be wrong.
    """
    ordered = ge(x, y) if aval_of(x).dtype.kind != "c" else ge(real(x), real(y))
    x, y = stretch(x, aval_of(ordered)), stretch(y, aval_of(ordered))
    larger = select(ordered, x, y)
    difference = sub(select(ordered, y, x), larger)
    # The difference of infinities of one sign is nan; the sum is that infinity. nan stays nan, in
    # derivatives too.
    total = add(x, y)
    equal = bitwise_and(ne(difference, difference), eq(total, total))
    aval = aval_of(difference)
    any_number = convert(equal, aval.dtype, aval.weak_type)
    finite = select(equal, any_number, difference)
    return select(equal, total, add(larger, log_of_one_more(power(finite))))


@partials(rules, exp_p)
def _exp_partials(y: Any, x: Any) -> tuple[Any]:
    return (y,)


@partials(rules, exp2_p)
def _exp2_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: mul(scalar(0.6931471805599453, y), y),)


@partials(rules, expm1_p)
def _expm1_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: add(y, scalar(1, y)),)


@partials(rules, log_p)
def _log_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: div(scalar(1, x), x),)


@partials(rules, log1p_p)
def _log1p_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: div(scalar(1, x), add(x, scalar(1, x))),)


@partials(rules, sqrt_p)
def _sqrt_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: div(scalar(0.5, y), y),)


@partials(rules, rsqrt_p)
def _rsqrt_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: mul(scalar(-0.5, y), div(y, x)),)


@partials(rules, cbrt_p)
def _cbrt_partials(y: Any, x: Any) -> tuple[Any]:
    return (lambda: mul(scalar(1 / 3, y), integer_pow(y, -2)),)


@partials(rules, logistic_p)
def _logistic_partials(y: Any, x: Any) -> tuple[Any]:
    # In terms of y: nothing is exponentiated twice, and large |x| gives 0, not nan.
    return (lambda: mul(y, sub(scalar(1, y), y)),)


@partials(rules, pow_p)
def _pow_partials(z: Any, x: Any, y: Any) -> tuple[Any, Any]:
    def one_where(which: Any) -> Any:
        # The exponent may have stretched the base.
        base = stretch(x, aval_of(which))
        return select(which, stretch(scalar(1, x), aval_of(base)), base)

    def by_x() -> Any:
        # For x == y == 0 the formula y * x ** (y - 1) would be 0 * inf; the derivative is 0.
        # Elsewhere the formula stays as it is, because its own derivative by y is needed.
        both = bitwise_and(eq(x, scalar(0, x)), eq(y, scalar(0, y)))
        return mul(y, pow(one_where(both), sub(y, scalar(1, y))))

    def by_y() -> Any:
        # At x == 0 the formula x ** y * log x would be 0 * -inf; the derivative is 0.
        return mul(z, log(one_where(eq(x, scalar(0, x)))))

    return by_x, by_y
