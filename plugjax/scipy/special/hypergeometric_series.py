"""Sums of ``x**k / k!`` times Pochhammer symbols of the parameters: hypergeometric series, with derivatives by the parameters.

The terms follow from one another, ``t[k+1] = r[k] t[k]``, with a ratio that is rational in k and the parameters; so do their
derivatives, ``t'[k+1] = r[k] t'[k] + r'[k] t[k]``. Terms are added until the next one changes no element.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Zero
from plugjax.numpy.selection import where

_MOST_TERMS = 3000


def ends(parameter: Any) -> Any:
    """Whether a sum with this upper parameter is finite: the parameter is zero or a negative integer."""
    return (parameter <= 0) & (lax.floor(parameter) == parameter)


def ends_before(parameter: Any, pole: Any) -> Any:
    """Whether the sum ends by one parameter before the other makes terms infinite."""
    return ends(parameter) & (parameter >= pole)


def gamma_quotient(above: Sequence[Any], below: Sequence[Any], logarithm: Any) -> Any:
    """Gamma functions over gamma functions, times the exponential of ``logarithm``; a pole below makes it 0."""
    for v in above:
        logarithm = logarithm + lax.lgamma(v)
    for v in below:
        logarithm = logarithm - lax.lgamma(v)
    return math.prod(_gamma_sign(v) for v in (*above, *below)) * lax.exp(logarithm)


def _gamma_sign(x: Any) -> Any:
    half = 0.5 * lax.floor(x)
    return where((x < 0) & (lax.floor(half) != half), -1.0, lax.full_like(x, 1))


def _ratio(above: Sequence[Any], below: Sequence[Any], x: Any, k: Any) -> tuple[Any, list[Any]]:
    """The ratio of a term to the one before it, and its derivatives by the parameters."""
    # A zero of a lower parameter either comes after the end of the sum, or makes it infinite, which
    # the caller handles.
    lower = [where(v + k == 0, 1.0, v + k) for v in below]
    upper = [v + k for v in above]
    scale = functools.reduce(operator.truediv, lower, x / (k + 1))
    ratio = math.prod(upper) * scale
    slopes = [math.prod(upper[:i] + upper[i + 1 :]) * scale for i in range(len(upper))]
    return ratio, slopes + [-ratio / v for v in lower]


def matters(term: Any, total: Any) -> Any:
    """Whether adding a term changes a total."""
    return lax.abs(term) > float(np.finfo(total.dtype).eps) * lax.abs(total)


def series(
    above: Sequence[Any], below: Sequence[Any], x: Any, needed: Any, most: int = _MOST_TERMS
) -> Any:
    """The sum.

    Args:
        above: upper parameters, of the shape of ``x``.
        below: lower parameters.
        x: the argument.
        needed: mask of the needed elements; elsewhere the sum is 1.
        most: limit of the number of terms.
    """

    def step(carry: Any) -> Any:
        k, term, total = carry
        term = term * _ratio(above, below, x, k)[0]
        return k + 1, term, total + term

    def unfinished(carry: Any) -> Any:
        k, term, total = carry
        return matters(term, total).any() & (k < most)

    one = lax.full_like(x, 1)
    start = (x.dtype.type(0), where(needed, one, 0.0), one)
    return lax.while_loop(unfinished, step, start)[2]


def series_slopes(above: Sequence[Any], below: Sequence[Any], x: Any) -> tuple[Any, ...]:
    """The sum, and its derivatives by the upper and the lower parameters."""

    def step(carry: Any) -> Any:
        k, (term, *derivatives), totals = carry
        ratio, slopes = _ratio(above, below, x, k)
        following = (
            term * ratio,
            *(t * ratio + term * s for t, s in zip(derivatives, slopes, strict=True)),
        )
        return k + 1, following, tuple(map(operator.add, totals, following))

    def unfinished(carry: Any) -> Any:
        k, terms, totals = carry
        more = functools.reduce(operator.or_, map(matters, terms, totals))
        return more.any() & (k < _MOST_TERMS)

    one, zero = lax.full_like(x, 1), lax.full_like(x, 0)
    first = (one, *(zero for _ in (*above, *below)))
    found: tuple[Any, ...] = lax.while_loop(unfinished, step, (x.dtype.type(0), first, first))[2]
    return found


def along(tangents: Sequence[Any], slopes: Sequence[Callable[[], Any]]) -> Any:
    """The sum of slopes times tangents; slopes are computed only for nonzero tangents."""
    return sum(
        slope() * t for t, slope in zip(tangents, slopes, strict=True) if type(t) is not Zero
    )
