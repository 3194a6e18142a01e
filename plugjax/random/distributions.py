"""Random numbers of many distributions, each from uniform numbers."""

from __future__ import annotations

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array, config
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.errors import DtypeError
from plugjax.extend.meshes import ShardingLike
from plugjax.lax.axes import ShapeLike
from plugjax.lax.placement import laid_out
from plugjax.numpy.arithmetic import add, multiply, power, true_divide
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operand,
    as_operands,
    broadcast_to_shape,
    canonical_dtype,
    converted,
    limits,
    pick,
    promote_shapes,
    scalar,
    to_inexact,
)
from plugjax.random.bits import (
    as_shape,
    check_safe_cast,
    float_dtype,
    result_shape,
    uniform,
)
from plugjax.random.keys import single_key, split

__all__ = [
    "bernoulli", "cauchy", "double_sided_maxwell", "exponential", "geometric", "gumbel", "laplace",
    "logistic", "lognormal", "maxwell", "normal", "pareto", "rademacher", "rayleigh", "triangular", "truncated_normal",
    "wald", "weibull_min",
]  # fmt: skip


def _operand(who: str, value: ArrayLike, dtype: DType, rank: int) -> Operand:
    """A parameter in the dtype and rank of the result."""
    if type(value) in (int, float):
        return dtype.type(value)
    found = lax.convert_element_type(as_operand(who, value), dtype)
    return promote_shapes(found, rank) if found.ndim else found


def _no_mode(who: str, mode: str | None, known: tuple[str, ...]) -> None:
    if mode is not None and mode not in known:
        raise ValueError(f"{who}: mode is None or one of {known}, got {mode!r}.")


def normal(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Standard normal numbers; complex ones have independent parts of variance 1/2.

    Example:
        >>> from plugjax import random
        >>> random.normal(random.key(0), (2,))
        Array([1.6226422, 2.0252647], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out("normal", normal(key=key, shape=shape, dtype=dtype), out_sharding)
    k = single_key("normal", key)
    wanted = canonical_dtype("normal", float if dtype is None else dtype)
    if not dtypes.is_inexact(wanted):
        raise ValueError(
            f"dtype argument to `normal` must be floating or complex, got {wanted.name}."
        )
    sizes = as_shape("normal", shape)
    if wanted.kind == "c":
        real = np.dtype(f"float{wanted.itemsize * 4}")
        first, second = split(k)
        parts = [
            lax.convert_element_type(_normal(part, sizes, real), wanted) for part in (first, second)
        ]
        z = lax.add(parts[0], lax.mul(wanted.type(1j), parts[1]))
        return lax.div(z, wanted.type(real.type(np.sqrt(2))))
    return _normal(k, sizes, wanted)


def _normal(key: Array, shape: tuple[int, ...], dtype: DType) -> Array:
    low = np.nextafter(dtype.type(-1), dtype.type(0))
    deviate = lax.erf_inv(uniform(key, shape, dtype, low, 1.0))
    return lax.mul(scalar(np.sqrt(2), deviate), deviate)


def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
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
    if out_sharding is not None:
        return laid_out(
            "truncated_normal",
            truncated_normal(key=key, lower=lower, upper=upper, shape=shape, dtype=dtype),
            out_sharding,
        )
    k = single_key("truncated_normal", key)
    wanted = float_dtype("truncated_normal", dtype)
    bounds = as_operands("truncated_normal", lower, upper)
    sizes = result_shape("truncated_normal", shape, *bounds)
    low, high = (lax.convert_element_type(v, wanted) for v in bounds)
    root = wanted.type(np.sqrt(2))
    u = uniform(k, sizes, wanted, lax.erf(lax.div(low, root)), lax.erf(lax.div(high, root)))
    found = lax.mul(root, lax.erf_inv(u))
    # Rounding may move a number onto a bound.
    least, most = (
        lax.nextafter(lax.stop_gradient(v), lax.full(v.shape, scalar(to, v)))
        for v, to in ((low, np.inf), (high, -np.inf))
    )
    least, most = (promote_shapes(v, len(sizes)) if v.ndim else v for v in (least, most))
    return lax.min(most, lax.max(least, found))


def bernoulli(
    key: ArrayLike,
    p: ArrayLike = 0.5,
    shape: ShapeLike | None = None,
    mode: str = "low",
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """True with probability ``p``.

    Args:
        key: a key.
        p: probability, broadcast to ``shape``.
        shape: shape of the result, that of ``p`` by default.
        mode: ``"high"`` resolves small probabilities with twice the bits.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Example:
        >>> from plugjax import random
        >>> random.bernoulli(random.key(0), 0.5, (3,))
        Array([False, False,  True], dtype=bool)
    """
    if out_sharding is not None:
        return laid_out("bernoulli", bernoulli(key=key, p=p, shape=shape, mode=mode), out_sharding)
    k = single_key("bernoulli", key)
    if mode not in ("high", "low"):
        raise ValueError(f"bernoulli: mode is 'high' or 'low', got {mode!r}.")
    chance = as_operand("bernoulli", p)
    if not dtypes.is_float(chance.dtype):
        raise DtypeError(f"bernoulli needs a floating probability, got {chance.dtype.name}.")
    sizes = result_shape("bernoulli", shape, chance)
    chance = promote_shapes(chance, len(sizes)) if chance.ndim else chance
    chance = lax.convert_element_type(chance, chance.dtype)
    if mode == "high" or (mode is None and config.read("high_dynamic_range_gumbel")):
        drawn = uniform(k, (2, *sizes), chance.dtype)
        first, second = (lax.index_in_dim(drawn, i, 0, keepdims=False) for i in range(2))
        info = limits(chance.dtype)
        second = lax.mul(second, scalar(2.0**-info.nmant, second))
        return lax.lt(second, lax.sub(chance, first))
    return lax.lt(uniform(k, sizes, chance.dtype), chance)


def rademacher(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """-1 or 1, with equal probability.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> jnp.abs(random.rademacher(random.key(0), (3,)))
        Array([1, 1, 1], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out("rademacher", rademacher(key=key, shape=shape, dtype=dtype), out_sharding)
    k = single_key("rademacher", key)
    wanted = canonical_dtype("rademacher", int if dtype is None else dtype)
    # As bools both values are true.
    own = dtypes.INT32 if wanted == dtypes.BOOL else wanted
    drawn = lax.convert_element_type(bernoulli(k, 0.5, as_shape("rademacher", shape)), own)
    return converted(lax.sub(lax.mul(scalar(2, drawn), drawn), scalar(1, drawn)), wanted)


def exponential(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Exponential numbers of rate 1.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.exponential(random.key(0), (5,)) >= 0).all()
        Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return laid_out("exponential", exponential(key=key, shape=shape, dtype=dtype), out_sharding)
    k = single_key("exponential", key)
    u = uniform(k, shape, float_dtype("exponential", dtype))
    return lax.neg(lax.log1p(lax.neg(u)))


def gumbel(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    mode: str | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Standard Gumbel numbers; mode ``"high"`` resolves the upper tail with twice the bits.

    Without a mode the option ``jax_high_dynamic_range_gumbel`` decides.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.gumbel(random.key(0), (2,)).round(2)
        Array([2.92, 3.83], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "gumbel", gumbel(key=key, shape=shape, dtype=dtype, mode=mode), out_sharding
        )
    k = single_key("gumbel", key)
    wanted = float_dtype("gumbel", dtype)
    sizes = as_shape("gumbel", shape)
    _no_mode("gumbel", mode, ("high", "low"))
    info = limits(wanted)
    tiny = wanted.type(info.tiny)
    if mode == "high" or (mode is None and config.read("high_dynamic_range_gumbel")):
        drawn = uniform(k, (2, *sizes), wanted)
        high, low = (lax.index_in_dim(drawn, i, 0, keepdims=False) for i in range(2))
        fine = lax.add(lax.add(high, lax.mul(wanted.type(info.eps), low)), tiny)
        # log1p needs the finer number only where 1 - x keeps its digits.
        x = lax.select(lax.ge(high, wanted.type(0.5)), high, fine)
        return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(x)))))
    u = uniform(k, sizes, wanted, tiny, 1.0)
    return lax.neg(lax.log(lax.neg(lax.log(u))))


def laplace(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Standard Laplace numbers.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.laplace(random.key(0), (2,)).round(2)
        Array([-2.26, -3.15], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out("laplace", laplace(key=key, shape=shape, dtype=dtype), out_sharding)
    k = single_key("laplace", key)
    wanted = float_dtype("laplace", dtype)
    low = wanted.type(-1 + limits(wanted).epsneg)
    u = uniform(k, shape, wanted, low, 1.0)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


def logistic(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Standard logistic numbers.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.logistic(random.key(0), (2,)).round(2)
        Array([2.9 , 3.82], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out("logistic", logistic(key=key, shape=shape, dtype=dtype), out_sharding)
    k = single_key("logistic", key)
    wanted = float_dtype("logistic", dtype)
    u = uniform(k, shape, wanted, wanted.type(limits(wanted).tiny), 1.0)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


def cauchy(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Standard Cauchy numbers.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.cauchy(random.key(0), (2,)).round(2)
        Array([ 6.03, 14.84], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out("cauchy", cauchy(key=key, shape=shape, dtype=dtype), out_sharding)
    k = single_key("cauchy", key)
    wanted = float_dtype("cauchy", dtype)
    u = uniform(k, shape, wanted, wanted.type(limits(wanted).eps), 1.0)
    return lax.tan(lax.mul(scalar(np.pi, u), lax.sub(u, scalar(0.5, u))))


def lognormal(
    key: ArrayLike,
    sigma: ArrayLike = 1.0,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Numbers whose logarithm is normal with standard deviation ``sigma``.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.lognormal(random.key(0), shape=(5,)) > 0).all()
        Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return laid_out(
            "lognormal", lognormal(key=key, sigma=sigma, shape=shape, dtype=dtype), out_sharding
        )
    k = single_key("lognormal", key)
    wanted = canonical_dtype("lognormal", float if dtype is None else dtype)
    if not dtypes.is_inexact(wanted):
        raise ValueError(f"lognormal needs a floating or complex dtype, got {wanted.name}.")
    sizes = result_shape("lognormal", shape, sigma)
    check_safe_cast("lognormal", wanted, sigma)
    scale = _operand("lognormal", sigma, wanted, len(sizes))
    return lax.exp(lax.mul(normal(k, sizes, wanted), scale))


def pareto(
    key: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Pareto numbers of shape ``b`` and scale 1.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.pareto(random.key(0), 2.0, (5,)) >= 1).all()
        Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return laid_out("pareto", pareto(key=key, b=b, shape=shape, dtype=dtype), out_sharding)
    k = single_key("pareto", key)
    wanted = float_dtype("pareto", dtype)
    sizes = result_shape("pareto", shape, b)
    check_safe_cast("pareto", wanted, b)
    return lax.exp(
        lax.div(exponential(k, sizes, wanted), _operand("pareto", b, wanted, len(sizes)))
    )


def rayleigh(
    key: ArrayLike,
    scale: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Rayleigh numbers of a scale.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.rayleigh(random.key(0), 2.0, (5,)) >= 0).all()
        Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return laid_out(
            "rayleigh", rayleigh(key=key, scale=scale, shape=shape, dtype=dtype), out_sharding
        )
    k = single_key("rayleigh", key)
    wanted = float_dtype("rayleigh", dtype)
    sizes = result_shape("rayleigh", shape, scale)
    check_safe_cast("rayleigh", wanted, scale)
    u = uniform(k, sizes, wanted)
    radius = lax.sqrt(lax.mul(lax.log(u), scalar(-2, u)))
    return lax.mul(_operand("rayleigh", scale, wanted, len(sizes)), radius)


def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Weibull numbers of a scale and a concentration, which are stretched and promoted with them.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.weibull_min(random.key(0), 1.0, 2.0, (5,)) >= 0).all()
        Array(True, dtype=bool)
    """
    k = single_key("weibull_min", key)
    u = uniform(k, as_shape("weibull_min", shape), float_dtype("weibull_min", dtype))
    waiting = lax.neg(lax.log1p(lax.neg(u)))
    return multiply(power(waiting, true_divide(1.0, concentration)), scale)


def triangular(
    key: ArrayLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Triangular numbers between ``left`` and ``right`` with the peak at ``mode``.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> x = random.triangular(random.key(0), 0.0, 1.0, 2.0, (5,))
        >>> ((0 <= x) & (x <= 2)).all()
        Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return laid_out(
            "triangular",
            triangular(key=key, left=left, mode=mode, right=right, shape=shape, dtype=dtype),
            out_sharding,
        )
    k = single_key("triangular", key)
    wanted = float_dtype("triangular", dtype)
    sizes = result_shape("triangular", shape, left, mode, right)
    check_safe_cast("triangular", wanted, left, mode, right)
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


def maxwell(
    key: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Maxwell numbers of scale 1: lengths of normal vectors with 3 components.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.maxwell(random.key(0), (5,)) > 0).all()
        Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return laid_out("maxwell", maxwell(key=key, shape=shape, dtype=dtype), out_sharding)
    k = single_key("maxwell", key)
    wanted = float_dtype("maxwell", dtype)
    vectors = normal(k, (*as_shape("maxwell", shape), 3), wanted)
    return lax.sqrt(lax.reduce_sum(lax.square(vectors), (vectors.ndim - 1,)))


def double_sided_maxwell(
    key: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Maxwell numbers of either sign, scaled and moved.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.double_sided_maxwell(random.key(0), 1.0, 2.0, (2,)).round(2)
        Array([4.09, 4.15], dtype=float32)
    """
    k = single_key("double_sided_maxwell", key)
    wanted = float_dtype("double_sided_maxwell", dtype)
    own = result_shape("double_sided_maxwell", None, loc, scale)
    sizes = (*(as_shape("double_sided_maxwell", shape) or own), *own)
    first, second = split(k)
    length = maxwell(first, sizes, wanted)
    side = rademacher(second, sizes, wanted)
    return add(multiply(lax.mul(length, side), scale), loc)


def geometric(
    key: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Number of trials until the first success, each of probability ``p``.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.geometric(random.key(0), 0.5, (5,)) >= 1).all()
        Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return laid_out(
            "geometric", geometric(key=key, p=p, shape=shape, dtype=dtype), out_sharding
        )
    k = single_key("geometric", key)
    wanted = canonical_dtype("geometric", int if dtype is None else dtype)
    if not dtypes.is_integer(wanted):
        raise ValueError(f"geometric needs an integer dtype, got {wanted.name}.")
    chance = to_inexact("geometric", p)
    sizes = result_shape("geometric", shape, chance)
    u = uniform(k, sizes, chance.dtype)
    failure = lax.log1p(lax.neg(chance))
    failure = promote_shapes(failure, len(sizes)) if failure.ndim else failure
    u = pick(lax.eq(u, scalar(0, u)), scalar(1, u), u)
    trials = lax.add(lax.floor(lax.div(lax.log(u), failure)), scalar(1, u))
    return lax.convert_element_type(trials, wanted)


def wald(
    key: ArrayLike,
    mean: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Inverse Gaussian numbers of a mean, with scale 1.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.wald(random.key(0), 1.0, (5,)) > 0).all()
        Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return laid_out("wald", wald(key=key, mean=mean, shape=shape, dtype=dtype), out_sharding)
    k = single_key("wald", key)
    wanted = float_dtype("wald", dtype)
    sizes = result_shape("wald", shape, mean)
    check_safe_cast("wald", wanted, mean)
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
