"""Counts: Poisson, binomial and multinomial numbers.

Small means by inversion: waiting times are drawn until their sum exceeds the interval. Large ones by transformed
rejection. Both run on whole arrays until every element is done.

Reference:
    Knuth, "The Art of Computer Programming", volume 2, 3.4.1 (Poisson); Devroye, "Non-uniform random variate
    generation",
    1986, X.4.3 (binomial, by geometric waiting times); Hoermann, "The transformed rejection method for generating
    Poisson
    random variables", 1993, and "The generation of binomial random variates", 1993 (large means).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.execution import jit
from plugjax.extend.meshes import ShardingLike
from plugjax.lax.axes import ShapeLike
from plugjax.lax.placement import laid_out
from plugjax.numpy.manipulation import moveaxis
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    broadcast_to_shape,
    canonical_dtype,
    converted,
    same_dtype,
    to_inexact,
)
from plugjax.numpy.selection import where
from plugjax.random.bits import as_shape, float_dtype, result_shape, uniform
from plugjax.random.keys import clone, single_key, split

__all__ = ["binomial", "multinomial", "poisson"]


def poisson(
    key: ArrayLike,
    lam: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Poisson numbers of mean ``lam``, which is at least 0.

    Shapes:
        lam: broadcast to ``shape``, which is its own by default.

    Example:
        >>> from plugjax import random
        >>> random.poisson(random.key(0), 5.0, (3,))
        Array([1, 2, 5], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out(
            "poisson", poisson(key=key, lam=lam, shape=shape, dtype=dtype), out_sharding
        )
    k = single_key("poisson", key)
    wanted = canonical_dtype("poisson", int if dtype is None else dtype)
    rate = as_operand("poisson", lam)
    sizes = rate.shape if shape is None else as_shape("poisson", shape)
    rate = broadcast_to_shape("poisson", converted(rate, np.dtype(np.float32)), sizes)
    return _poisson(k, rate, wanted)


@jit(static_argnums=2)
def _poisson(key: Array, lam: Array, dtype: DType) -> Array:
    # nan takes the branch of small means, where it ends the loop at once.
    small = (lam != lam) | (lam < 10)
    counts = lax.select(
        small,
        _poisson_small(key, where(small, lam, 0.0), dtype),
        # Only one of the two branches is taken, so the key is used once.
        _poisson_large(clone(key), where(small, 1e5, lam), dtype),
    )
    return where(lam == 0, 0, counts)


def _most_rounds(dtype: DType) -> int:
    return min(int(np.iinfo(dtype).max), int(np.iinfo(np.int32).max))


def _poisson_small(key: Array, lam: Array, dtype: DType) -> Array:
    most = _most_rounds(dtype)

    def draw(carry: Any) -> Any:
        i, count, key, log_product = carry
        key, subkey = split(key)
        count = where(log_product > -lam, count + 1, count)
        return i + 1, count, key, log_product + lax.log(uniform(subkey, lam.shape, np.float32))

    zeros = lax.full_like(lam, 0)
    start = (np.int32(0), lax.full_like(lam, 0, dtype), key, zeros)
    found = lax.while_loop(lambda c: (c[3] > -lam).any() & (c[0] < most), draw, start)
    return found[1] - 1


def _poisson_large(key: Array, lam: Array, dtype: DType) -> Array:
    log_lam = lax.log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    most = _most_rounds(dtype)

    def attempt(carry: Any) -> Any:
        i, found, accepted, key = carry
        key, u_key, v_key = split(key, 3)
        u = uniform(u_key, lam.shape, lam.dtype) - 0.5
        v = uniform(v_key, lam.shape, lam.dtype)
        us = 0.5 - abs(u)
        k = lax.floor((2 * a / us + b) * u + lam + 0.43)
        height = lax.log(v * inverse_alpha / (a / (us * us) + b))
        target = -lam + k * log_lam - lax.lgamma(k + 1)
        surely = (us >= 0.07) & (v <= v_r)
        never = (k < 0) | ((us < 0.013) & (v > us))
        accept = surely | (~never & (height <= target))
        return i + 1, lax.select(accept, k, found), accepted | accept, key

    start = (np.int32(0), lax.full_like(lam, -1), lax.full_like(lam, False, np.bool_), key)
    found = lax.while_loop(lambda c: (~c[2]).any() & (c[0] < most), attempt, start)
    return lax.convert_element_type(found[1], dtype)


def binomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Number of successes in ``n`` trials of probability ``p``, as floating numbers.

    Shapes:
        n, p: broadcast to ``shape``.

    Returns:
        Counts; nan where ``n`` is negative or nan, or ``p`` is nan or outside of [0, 1].

    Example:
        >>> from plugjax import random
        >>> random.binomial(random.key(0), 5, 1.0, (2,))
        Array([5., 5.], dtype=float32)
    """
    k = single_key("binomial", key)
    wanted = float_dtype("binomial", dtype)
    chance = to_inexact("binomial", p)
    count = converted(as_operand("binomial", n), chance.dtype)
    sizes = result_shape("binomial", shape, count, chance)
    count, chance = (
        broadcast_to_shape("binomial", converted(v, chance.dtype), sizes) for v in (count, chance)
    )
    return _binomial(k, count, chance, wanted)


@jit(static_argnums=3)
def _binomial(key: Array, count: Array, p: Array, dtype: DType) -> Array:
    # Count the rarer outcome.
    rare = p < 0.5
    q = where(rare, p, 1.0 - p)
    no_count = (count != count) | (count < 0.0)
    endless = abs(count) == np.inf
    no_chance, negative = q != q, q < 0.0
    q = where(no_chance | negative, 0.01, q)
    small = no_count | (count * q <= 10.0)
    count = lax.floor(count)
    found = lax.select(
        small,
        _binomial_small(key, where(small, count, 0.0), q, dtype),
        _binomial_large(clone(key), where(small, 1e4, count), where(small, 0.5, q), dtype),
    )
    invalid = negative | no_chance | no_count
    found = where(invalid, np.nan, found)
    found = where(endless & ~invalid, np.inf, found)
    as_drawn = rare | no_count | no_chance | endless
    return where(as_drawn, found, lax.convert_element_type(count, dtype) - found)


def _binomial_small(key: Array, count: Array, p: Array, dtype: DType) -> Array:
    log_failure = lax.log1p(-p)

    def wait(carry: Any) -> Any:
        successes, trials, key = carry
        subkey, key = split(key)
        successes = where(trials <= count, successes + 1, successes)
        u = uniform(subkey, p.shape, p.dtype)
        return successes, trials + lax.ceil(lax.log(u) / log_failure), key

    zeros = lax.full_like(p, 0)
    found = lax.while_loop(lambda c: (c[1] <= count).any(), wait, (zeros, zeros, key))
    return lax.convert_element_type(found[0] - 1, dtype)


def _binomial_large(key: Array, count: Array, p: Array, dtype: DType) -> Array:
    deviation = lax.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = count * p + 0.5
    v_r = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = lax.floor((count + 1) * p)

    def attempt(carry: Any) -> Any:
        found, accepted, key = carry
        key, u_key, v_key = split(key, 3)
        u = uniform(u_key, p.shape, p.dtype)
        v = uniform(v_key, p.shape, p.dtype)
        u = u - 0.5
        us = 0.5 - abs(u)
        surely = (us >= 0.07) & (v <= v_r)
        k = lax.floor((2 * a / us + b) * u + c)
        never = (k < 0) | (k > count)
        height = lax.log(v * alpha / (a / (us * us) + b))
        # Logarithm of the density at k over that at the mode, with Stirling's formula for
        # factorials.
        target = (
            (mode + 0.5) * lax.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * lax.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * lax.log(odds * (count - k + 1) / (k + 1))
            + _stirling_error(mode)
            + _stirling_error(count - mode)
            - _stirling_error(k)
            - _stirling_error(count - k)
        )
        accept = surely | (~never & (height <= target))
        return lax.select(accept, k, found), accepted | accept, key

    start = (lax.full_like(p, -1), lax.full_like(p, False, np.bool_), key)
    found = lax.while_loop(lambda s: (~s[1]).any(), attempt, start)
    return lax.convert_element_type(found[0], dtype)


# log(k!) minus Stirling's (k + 1/2) log(k + 1) - (k + 1) + log(2 pi) / 2, for k = 0 ... 9.
_STIRLING_ERRORS = (
    0.08106146679532726, 0.0413406959554093, 0.02767792568499834, 0.020790672103765093, 0.016644691189821193,
    0.013876128823070748, 0.01189670994589177, 0.010411265261972096, 0.009255462182712733, 0.00833056343336287,
)  # fmt: skip


def _stirling_error(k: Array) -> Array:
    few = k <= 9
    near = lax.clamp(k.dtype.type(0), k, k.dtype.type(9))
    square = (near + 1) * (near + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (near + 1)
    exact = lax.full_like(k, 0)
    whole = lax.floor(near)
    for number, error in enumerate(_STIRLING_ERRORS):
        exact = where(whole == number, k.dtype.type(error), exact)
    return lax.select(few, exact, series)


def multinomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """How often each outcome occurs in ``n`` trials, as floating numbers.

    Args:
        key: a key.
        n: number of trials, broadcast to ``[...]``.
        p: probabilities of the outcomes, ``[..., k]``.
        shape: shape of the result, ``[..., k]``; that of ``p`` by default.
        dtype: dtype of the result.
        unroll: as of ``lax.scan``, which goes over the outcomes.

    Example:
        >>> from plugjax import numpy as jnp, random
        >>> float(random.multinomial(random.key(0), 7, jnp.array([0.25, 0.75])).sum())
        7.0
    """
    k = single_key("multinomial", key)
    trials, chances = same_dtype("multinomial", n, p, inexact=True)
    wanted = canonical_dtype("multinomial", float if dtype is None else dtype)
    sizes = chances.shape if shape is None else as_shape("multinomial", shape)
    trials = broadcast_to_shape("multinomial", trials, sizes[:-1])
    chances = broadcast_to_shape("multinomial", chances, sizes)
    chances = moveaxis(chances, -1, 0)
    left = lax.cumsum(chances, 0, reverse=True)
    ratios = chances / where(left == 0, 1, left)

    def draw(remaining: Any, each: Any) -> Any:
        ratio, key = each
        count = binomial(key, remaining, ratio.clip(0, 1), dtype=remaining.dtype)
        return remaining - count, count

    keys = split(k, ratios.shape[0])
    _, counts = lax.scan(draw, trials, (ratios, keys), unroll=unroll)
    counts = lax.transpose(counts, (*range(1, counts.ndim), 0))
    return lax.convert_element_type(counts, wanted)
