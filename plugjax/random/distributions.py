"""Random numbers of many distributions, each from uniform ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.core import dtypes
from plugjax.core.array import Array
from plugjax.core.dtypes import DType, DTypeLike
from plugjax.numpy.arithmetic import multiply
from plugjax.numpy.cumulative import cumsum
from plugjax.numpy.manipulation import canonical_axis
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operand,
    broadcast_to_shape,
    canonical_dtype,
    converted,
    limits,
    pick,
    promote_shapes,
    scalar,
    to_inexact,
)
from plugjax.numpy.sorting_searching import searchsorted
from plugjax.random.bits import (
    as_shape,
    float_dtype,
    permutation,
    randint,
    result_shape,
    uniform,
)
from plugjax.random.keys import single_key, split

__all__ = [
    "bernoulli", "categorical", "cauchy", "choice", "double_sided_maxwell", "exponential", "geometric", "gumbel", "laplace",
    "logistic", "lognormal", "maxwell", "normal", "pareto", "rademacher", "rayleigh", "triangular", "truncated_normal",
    "wald", "weibull_min",
]  # fmt: skip


def _operand(who: str, value: ArrayLike, dtype: DType, rank: int) -> Operand:
    """A parameter in the dtype of the result, with its rank."""
    if type(value) in (int, float):
        return dtype.type(value)
    found = lax.convert_element_type(as_operand(who, value), dtype)
    return promote_shapes(found, rank) if found.ndim else found


def _no_mode(who: str, mode: str | None, known: tuple[str, ...]) -> None:
    if mode is not None and mode not in known:
        raise ValueError(f"{who}: mode is None or one of {known}, got {mode!r}.")


def normal(key: Any, shape: Any = (), dtype: DTypeLike | None = None) -> Array:
    """Standard normal numbers; complex ones have independent parts of variance 1/2.

    Example:
        >>> from plugjax import random
        >>> random.normal(random.key(0), (2,))
        Array([1.6226422, 2.0252647], dtype=float32)
    """
    k = single_key("normal", key)
    wanted = canonical_dtype("normal", float if dtype is None else dtype)
    sizes = as_shape("normal", shape)
    if wanted.kind == "c":
        real = np.dtype(f"float{wanted.itemsize * 4}")
        first, second = split(k)
        parts = [
            lax.convert_element_type(_normal(part, sizes, real), wanted) for part in (first, second)
        ]
        z = lax.add(parts[0], lax.mul(wanted.type(1j), parts[1]))
        return lax.div(z, wanted.type(real.type(np.sqrt(2))))
    if not dtypes.is_float(wanted):
        raise ValueError(f"normal needs a float or complex dtype, got {wanted.name}.")
    return _normal(k, sizes, wanted)


def _normal(key: Array, shape: tuple[int, ...], dtype: DType) -> Array:
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    deviate = lax.erf_inv(uniform(key, shape, dtype, low, 1.0))
    return lax.mul(scalar(np.sqrt(2), deviate), deviate)


def truncated_normal(
    key: Any, lower: ArrayLike, upper: ArrayLike, shape: Any = None, dtype: DTypeLike | None = None
) -> Array:
    """Standard normal numbers within ``(lower, upper)``.

    Shapes:
        lower, upper: broadcast to ``shape``.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> x = random.truncated_normal(random.key(0), -1.0, 1.0, (5,))
        >>> ((-1 < x) & (x < 1)).all()
        Array(True, dtype=bool)
    """
    k = single_key("truncated_normal", key)
    wanted = float_dtype("truncated_normal", dtype)
    sizes = result_shape("truncated_normal", shape, lower, upper)
    low, high = (
        lax.convert_element_type(as_operand("truncated_normal", v), wanted) for v in (lower, upper)
    )
    root = wanted.type(np.sqrt(2))
    u = uniform(k, sizes, wanted, lax.erf(lax.div(low, root)), lax.erf(lax.div(high, root)))
    found = lax.mul(root, lax.erf_inv(u))
    # Rounding may carry a number onto a bound.
    least, most = (
        lax.nextafter(lax.stop_gradient(v), lax.full(v.shape, scalar(to, v)))
        for v, to in ((low, np.inf), (high, -np.inf))
    )
    least, most = (promote_shapes(v, len(sizes)) if v.ndim else v for v in (least, most))
    return lax.min(most, lax.max(least, found))


def bernoulli(key: Any, p: ArrayLike = 0.5, shape: Any = None, mode: str | None = None) -> Array:
    """True with probability ``p``.

    Args:
        key: a key.
        p: probability, broadcast to ``shape``.
        shape: shape of the result, that of ``p`` by default.
        mode: ``"high"`` resolves small probabilities with twice the bits.

    Example:
        >>> from plugjax import random
        >>> random.bernoulli(random.key(0), 0.5, (3,))
        Array([False, False,  True], dtype=bool)
    """
    k = single_key("bernoulli", key)
    _no_mode("bernoulli", mode, ("high", "low"))
    chance = to_inexact("bernoulli", p)
    sizes = result_shape("bernoulli", shape, chance)
    chance = promote_shapes(chance, len(sizes)) if chance.ndim else chance
    chance = lax.convert_element_type(chance, chance.dtype)
    if mode == "high":
        drawn = uniform(k, (2, *sizes), chance.dtype)
        first, second = (lax.index_in_dim(drawn, i, 0, keepdims=False) for i in range(2))
        info = limits(chance.dtype)
        second = lax.mul(second, scalar(2.0**-info.nmant, second))
        return lax.lt(second, lax.sub(chance, first))
    return lax.lt(uniform(k, sizes, chance.dtype), chance)


def rademacher(key: Any, shape: Any = (), dtype: DTypeLike | None = None) -> Array:
    """-1 or 1, with equal probability.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> jnp.abs(random.rademacher(random.key(0), (3,)))
        Array([1, 1, 1], dtype=int32)
    """
    k = single_key("rademacher", key)
    wanted = canonical_dtype("rademacher", int if dtype is None else dtype)
    drawn = lax.convert_element_type(bernoulli(k, 0.5, as_shape("rademacher", shape)), wanted)
    return lax.sub(lax.mul(scalar(2, drawn), drawn), scalar(1, drawn))


def exponential(key: Any, shape: Any = (), dtype: DTypeLike | None = None) -> Array:
    """Exponential numbers of rate 1.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.exponential(random.key(0), (5,)) >= 0).all()
        Array(True, dtype=bool)
    """
    k = single_key("exponential", key)
    u = uniform(k, shape, float_dtype("exponential", dtype))
    return lax.neg(lax.log1p(lax.neg(u)))


def gumbel(
    key: Any, shape: Any = (), dtype: DTypeLike | None = None, mode: str | None = None
) -> Array:
    """Standard Gumbel numbers; mode ``"high"`` resolves the upper tail with twice the bits.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.gumbel(random.key(0), (2,)).shape
        (2,)
    """
    k = single_key("gumbel", key)
    wanted = float_dtype("gumbel", dtype)
    sizes = as_shape("gumbel", shape)
    _no_mode("gumbel", mode, ("high", "low"))
    info = limits(wanted)
    tiny = wanted.type(info.tiny)
    if mode == "high":
        drawn = uniform(k, (2, *sizes), wanted)
        high, low = (lax.index_in_dim(drawn, i, 0, keepdims=False) for i in range(2))
        fine = lax.add(lax.add(high, lax.mul(wanted.type(info.eps), low)), tiny)
        # log1p needs the finer number only where 1 - x keeps its digits.
        x = lax.select(lax.ge(high, wanted.type(0.5)), high, fine)
        return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(x)))))
    u = uniform(k, sizes, wanted, tiny, 1.0)
    return lax.neg(lax.log(lax.neg(lax.log(u))))


def categorical(
    key: Any,
    logits: ArrayLike,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
) -> Array:
    """Indices drawn with probabilities ``softmax(logits)`` along an axis.

    Shapes:
        logits: ``[..., n, ...]`` -> ``shape``, which ends with ``[...]``; that itself by default.

    Units:
        logits: nats, up to a constant.

    Example:
        >>> from plugjax import numpy as jnp, random
        >>> random.categorical(random.key(0), jnp.array([0.0, -jnp.inf]), shape=(2,))
        Array([0, 0], dtype=int32)
    """
    k = single_key("categorical", key)
    scores = to_inexact("categorical", logits)
    axis = canonical_axis(axis, scores.ndim) - scores.ndim
    batch = tuple(n for i, n in enumerate(scores.shape) if i != axis + scores.ndim)
    sizes = batch if shape is None else result_shape("categorical", shape, np.empty(batch))
    lead = sizes[: len(sizes) - len(batch)]
    index = dtypes.canonicalize(int)
    if replace:
        noise = gumbel(k, (*lead, *scores.shape), scores.dtype, mode)
        total = lax.add(noise, promote_shapes(scores, noise.ndim))
        return lax.argmax(total, axis + total.ndim, index)
    count = math.prod(lead)
    if count > scores.shape[axis]:
        raise ValueError(
            f"categorical without replacement: {count} draws from {scores.shape[axis]} categories. Draw fewer."
        )
    total = lax.add(gumbel(k, scores.shape, scores.dtype, mode), scores)
    chosen = (-total).argsort(axis)
    chosen = lax.slice_in_dim(chosen, 0, count, axis=axis + total.ndim)
    chosen = lax.transpose(
        chosen, (axis + total.ndim, *(i for i in range(total.ndim) if i != axis + total.ndim))
    )
    return lax.reshape(chosen, sizes)


def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Elements drawn along an axis of ``a``; for an integer, those of ``arange``.

    Args:
        key: a key.
        a: array or integer.
        shape: shape of the drawn part of the result.
        replace: whether an element may be drawn twice.
        p: probabilities of the elements; equal ones by default.
        axis: the axis of ``a``.
        mode: as of :func:`gumbel`, for draws without replacement.

    Raises:
        ValueError: more draws than elements without replacement, or ``p`` of another size.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.choice(random.key(0), 5, (3,), replace=False).shape
        (3,)
    """
    k = single_key("choice", key)
    sizes = as_shape("choice", shape)
    whole = not np.ndim(a)
    values = a if whole else as_operand("choice", a)
    axis = 0 if whole else canonical_axis(axis, values.ndim)
    count = int(a) if whole else values.shape[axis]
    draws = math.prod(sizes)
    if count <= 0 and draws:
        raise ValueError("choice: there is nothing to draw from. Give an a that is not empty.")
    if not replace and draws > count:
        raise ValueError(
            f"choice without replacement: a larger sample (size {draws}) than there are elements (size {count}). Draw fewer."
        )

    def chosen(index: Array) -> Array:
        return index if whole else values.take(index, axis, mode="clip")

    if p is None:
        if replace:
            return chosen(randint(k, sizes, 0, count))
        order = permutation(k, count if whole else values, axis)
        drawn = lax.slice_in_dim(order, 0, draws, axis=axis)
        return lax.reshape(drawn, (*drawn.shape[:axis], *sizes, *drawn.shape[axis + 1 :]))
    chances = to_inexact("choice", p)
    if chances.shape != (count,):
        raise ValueError(
            f"choice: p needs to be None or a vector of a probability for each element, got shape {chances.shape} for {count}."
        )
    if replace:
        total = cumsum(chances)
        u = uniform(k, sizes, total.dtype)
        r = multiply(total[-1], lax.sub(scalar(1, u), u))
        return chosen(searchsorted(total, r))
    scores = lax.add(gumbel(k, (count,), chances.dtype, mode), lax.log(chances))
    best = lax.slice_in_dim((-scores).argsort(), 0, draws)
    return chosen(lax.reshape(best, sizes))


def laplace(key: Any, shape: Any = (), dtype: DTypeLike | None = None) -> Array:
    """Standard Laplace numbers.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.laplace(random.key(0), (2,)).shape
        (2,)
    """
    k = single_key("laplace", key)
    wanted = float_dtype("laplace", dtype)
    low = wanted.type(-1 + limits(wanted).epsneg)
    u = uniform(k, shape, wanted, low, 1.0)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


def logistic(key: Any, shape: Any = (), dtype: DTypeLike | None = None) -> Array:
    """Standard logistic numbers.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.logistic(random.key(0), (2,)).shape
        (2,)
    """
    k = single_key("logistic", key)
    wanted = float_dtype("logistic", dtype)
    u = uniform(k, shape, wanted, wanted.type(limits(wanted).tiny), 1.0)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


def cauchy(key: Any, shape: Any = (), dtype: DTypeLike | None = None) -> Array:
    """Standard Cauchy numbers.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.cauchy(random.key(0), (2,)).shape
        (2,)
    """
    k = single_key("cauchy", key)
    wanted = float_dtype("cauchy", dtype)
    u = uniform(k, shape, wanted, wanted.type(limits(wanted).eps), 1.0)
    return lax.tan(lax.mul(scalar(np.pi, u), lax.sub(u, scalar(0.5, u))))


def lognormal(
    key: Any, sigma: ArrayLike = 1.0, shape: Any = None, dtype: DTypeLike | None = None
) -> Array:
    """Numbers whose logarithm is normal with standard deviation ``sigma``.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.lognormal(random.key(0), shape=(5,)) > 0).all()
        Array(True, dtype=bool)
    """
    k = single_key("lognormal", key)
    wanted = float_dtype("lognormal", dtype)
    sizes = result_shape("lognormal", shape, sigma)
    scale = _operand("lognormal", sigma, wanted, len(sizes))
    return lax.exp(lax.mul(normal(k, sizes, wanted), scale))


def pareto(key: Any, b: ArrayLike, shape: Any = None, dtype: DTypeLike | None = None) -> Array:
    """Pareto numbers of shape ``b`` and scale 1.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.pareto(random.key(0), 2.0, (5,)) >= 1).all()
        Array(True, dtype=bool)
    """
    k = single_key("pareto", key)
    wanted = float_dtype("pareto", dtype)
    sizes = result_shape("pareto", shape, b)
    return lax.exp(
        lax.div(exponential(k, sizes, wanted), _operand("pareto", b, wanted, len(sizes)))
    )


def rayleigh(
    key: Any, scale: ArrayLike, shape: Any = None, dtype: DTypeLike | None = None
) -> Array:
    """Rayleigh numbers of a scale.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.rayleigh(random.key(0), 2.0, (5,)) >= 0).all()
        Array(True, dtype=bool)
    """
    k = single_key("rayleigh", key)
    wanted = float_dtype("rayleigh", dtype)
    sizes = result_shape("rayleigh", shape, scale)
    u = uniform(k, sizes, wanted)
    radius = lax.sqrt(lax.mul(lax.log(u), scalar(-2, u)))
    return lax.mul(_operand("rayleigh", scale, wanted, len(sizes)), radius)


def weibull_min(
    key: Any,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: Any = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Weibull numbers of a scale and a concentration.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.weibull_min(random.key(0), 1.0, 2.0, (5,)) >= 0).all()
        Array(True, dtype=bool)
    """
    k = single_key("weibull_min", key)
    wanted = float_dtype("weibull_min", dtype)
    sizes = as_shape("weibull_min", () if shape is None else shape)
    power = lax.div(wanted.type(1), _operand("weibull_min", concentration, wanted, len(sizes)))
    u = uniform(k, sizes, wanted)
    waiting = lax.neg(lax.log1p(lax.neg(u)))
    return lax.mul(lax.pow(waiting, power), _operand("weibull_min", scale, wanted, len(sizes)))


def triangular(
    key: Any,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: Any = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Triangular numbers between ``left`` and ``right`` with the peak at ``mode``.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> x = random.triangular(random.key(0), 0.0, 1.0, 2.0, (5,))
        >>> ((0 <= x) & (x <= 2)).all()
        Array(True, dtype=bool)
    """
    k = single_key("triangular", key)
    wanted = float_dtype("triangular", dtype)
    sizes = result_shape("triangular", shape, left, mode, right)
    low, peak, high = (
        broadcast_to_shape("triangular", converted(as_operand("triangular", v), wanted), sizes)
        for v in (left, mode, right)
    )
    width = lax.sub(high, low)
    share = lax.div(lax.sub(peak, low), width)
    u = uniform(k, sizes, wanted)
    rising = lax.add(low, lax.sqrt(lax.mul(lax.mul(u, width), lax.sub(peak, low))))
    rest = lax.sub(scalar(1, u), u)
    falling = lax.sub(high, lax.sqrt(lax.mul(lax.mul(rest, width), lax.sub(high, peak))))
    return pick(lax.lt(u, share), rising, falling)


def maxwell(key: Any, shape: Any = (), dtype: DTypeLike | None = None) -> Array:
    """Maxwell numbers of scale 1: lengths of normal vectors with 3 components.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.maxwell(random.key(0), (5,)) > 0).all()
        Array(True, dtype=bool)
    """
    k = single_key("maxwell", key)
    vectors = normal(k, (*as_shape("maxwell", shape), 3), float_dtype("maxwell", dtype))
    return lax.sqrt(lax.reduce_sum(lax.square(vectors), (vectors.ndim - 1,)))


def double_sided_maxwell(
    key: Any, loc: ArrayLike, scale: ArrayLike, shape: Any = (), dtype: DTypeLike | None = None
) -> Array:
    """Maxwell numbers of either sign, scaled and moved.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.double_sided_maxwell(random.key(0), 1.0, 2.0, (2,)).shape
        (2,)
    """
    k = single_key("double_sided_maxwell", key)
    wanted = float_dtype("double_sided_maxwell", dtype)
    sizes = as_shape("double_sided_maxwell", shape)
    first, second = split(k)
    length = maxwell(first, sizes, wanted)
    side = rademacher(second, sizes, wanted)
    signed = lax.mul(
        lax.mul(length, side), _operand("double_sided_maxwell", scale, wanted, len(sizes))
    )
    return lax.add(signed, _operand("double_sided_maxwell", loc, wanted, len(sizes)))


def geometric(key: Any, p: ArrayLike, shape: Any = None, dtype: DTypeLike | None = None) -> Array:
    """Number of trials until the first success, each of probability ``p``.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.geometric(random.key(0), 0.5, (5,)) >= 1).all()
        Array(True, dtype=bool)
    """
    k = single_key("geometric", key)
    wanted = canonical_dtype("geometric", int if dtype is None else dtype)
    chance = to_inexact("geometric", p)
    sizes = result_shape("geometric", shape, chance)
    u = uniform(k, sizes, chance.dtype)
    failure = lax.log1p(lax.neg(chance))
    failure = promote_shapes(failure, len(sizes)) if failure.ndim else failure
    u = pick(lax.eq(u, scalar(0, u)), scalar(1, u), u)
    trials = lax.add(lax.floor(lax.div(lax.log(u), failure)), scalar(1, u))
    return lax.convert_element_type(trials, wanted)


def wald(key: Any, mean: ArrayLike, shape: Any = None, dtype: DTypeLike | None = None) -> Array:
    """Inverse Gaussian numbers of a mean, with scale 1.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.wald(random.key(0), 1.0, (5,)) > 0).all()
        Array(True, dtype=bool)
    """
    k = single_key("wald", key)
    wanted = float_dtype("wald", dtype)
    sizes = result_shape("wald", shape, mean)
    first, second = split(k)
    mu = broadcast_to_shape("wald", converted(as_operand("wald", mean), wanted), sizes)
    v = normal(first, sizes, wanted)
    z = uniform(second, sizes, wanted)
    y = lax.square(v)
    y_sq, mu_sq = lax.square(y), lax.square(mu)
    two, four = scalar(2, mu), scalar(4, mu)
    root = lax.sqrt(lax.add(lax.mul(lax.mul(four, mu), y), lax.mul(mu_sq, y_sq)))
    x = lax.sub(lax.add(mu, lax.div(lax.mul(mu_sq, y), two)), lax.mul(lax.div(mu, two), root))
    return pick(lax.le(z, lax.div(mu, lax.add(mu, x))), x, lax.div(mu_sq, x))
