r"""Gamma numbers, and distributions that are made of them.

A proposal ``d (1 + c z)**3`` of a normal z, with ``d = a - 1/3`` and ``c = 1 / (3 sqrt(d))``, is accepted or rejected
by a uniform number; rejections are rare. For ``a < 1``, ``Gamma(a) = Gamma(a + 1) U**(1 / a)``. The derivative of a
sample by ``a`` is that of a fixed quantile (``lax.random_gamma_grad``).

Reference:
    Marsaglia, Tsang, "A simple method for generating gamma variables", 2000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax import lax
from plugjax.extend.core import (
    Array,
    Primitive,
    ShapedArray,
    Zero,
    aval_of,
    eval_closed,
)
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.meshes import ShardingLike
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, jvp_rule, physical_rule
from plugjax.extend.transforms import Axis, materialize, physicalize, stage, vmap
from plugjax.lax.axes import ShapeLike
from plugjax.lax.placement import laid_out
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    broadcast_to_shape,
    converted,
    limits,
    promote_shapes,
    scalar,
)
from plugjax.random.bits import as_shape, check_safe_cast, float_dtype, result_shape, uniform
from plugjax.random.distributions import exponential, normal
from plugjax.random.keys import single_key, split
from plugjax.random.primitives import random_split_p

__all__ = ["beta", "chisquare", "dirichlet", "f", "gamma", "loggamma", "random_gamma_p", "t"]

rules = RuleSet(__name__)

random_gamma_p = Primitive("random_gamma")


@rules.define(abstract_eval, random_gamma_p)
def _aval(key: ShapedArray, a: ShapedArray, *, log_space: bool) -> ShapedArray:
    return ShapedArray(a.shape, a.dtype)


@rules.define(batching_rule, random_gamma_p)
def _batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, log_space: bool
) -> tuple[Any, int]:
    key, a = (materialize(x, d, axis) for x, d in zip(args, dims, strict=True))
    return random_gamma_p.bind(key, a, log_space=log_space), 0


@rules.define(jvp_rule, random_gamma_p)
def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, log_space: bool) -> tuple[Any, Any]:
    key, a = primals
    y = random_gamma_p.bind(key, a, log_space=log_space)
    if type(tangents[1]) is Zero:
        return y, Zero(aval_of(y).to_tangent_aval())
    sample = y
    if log_space:
        sample = lax.exp(y)
        tiny = lax.full_like(sample, float(limits(aval_of(y).dtype).tiny))
        sample = lax.select(lax.eq(sample, scalar(0, sample)), tiny, sample)
    slope = lax.random_gamma_grad(a, sample)
    if log_space:
        slope = lax.div(slope, sample)
    return y, lax.mul(tangents[1], slope)


@rules.define(physical_rule, random_gamma_p)
def _physical(in_avals: Sequence[ShapedArray], out_avals: Any, *args: Any, log_space: bool) -> Any:
    program = stage(lambda k, a: [_samples(k, a, log_space)], list(in_avals), "random_gamma")
    return eval_closed(physicalize(program), *args)[0]


def _samples(key: Array, a: Array, log_space: bool) -> Array:
    """Each number from its own key: ``key`` has the leading axes of ``a``."""
    if not a.size:
        return a
    keys = random_split_p.bind(key, shape=(a.size // max(key.size, 1),))
    keys, flat = lax.reshape(keys, (a.size,)), lax.reshape(a, (a.size,))
    found = vmap(lambda k, alpha: _sample(k, alpha, log_space))(keys, flat)
    return lax.reshape(found, a.shape)


def _sample(key: Array, alpha: Array, log_space: bool) -> Array:
    dtype = alpha.dtype
    zero, one, third = (dtype.type(v) for v in (0, 1, 1 / 3))
    large = alpha >= one
    boosted = lax.select(large, alpha, alpha + one)
    d = boosted - third
    c = third / lax.sqrt(d)

    def propose(carry: Any) -> Any:
        k, _, _ = carry
        k, subkey = split(k)
        z = normal(subkey, (), dtype)
        return k, z, one + z * c

    def refused(carry: Any) -> Any:
        _, square, cube, u = carry
        squeezed = u >= one - dtype.type(0.0331) * (square * square)
        bound = square * dtype.type(0.5) + d * ((one - cube) + lax.log(cube))
        return squeezed & (lax.log(u) >= bound)

    def attempt(carry: Any) -> Any:
        k, proposal_key, uniform_key = split(carry[0], 3)
        start = (proposal_key, lax.full((), zero), lax.full((), -one))
        _, z, v = lax.while_loop(lambda s: s[2] <= zero, propose, start)
        return k, z * z, (v * v) * v, uniform(uniform_key, (), dtype)

    key, boost_key = split(key)
    # Begin with a rejected state.
    start = (key, *(lax.full((), dtype.type(v)) for v in (0, 1, 2)))
    cube = lax.while_loop(refused, attempt, start)[2]
    if log_space:
        drawn = -exponential(boost_key, (), dtype)
        boost = lax.select(large | (drawn == zero), lax.full((), zero), drawn * (one / alpha))
        return (lax.log(d) + lax.log(cube)) + boost
    drawn = one - uniform(boost_key, (), dtype)
    boost = lax.select(large, lax.full((), one), lax.pow(drawn, one / alpha))
    return (d * cube) * boost


def _parameter(who: str, value: ArrayLike, dtype: DType) -> Array:
    return converted(as_operand(who, value), dtype)


def _gamma(
    who: str, key: ArrayLike, a: ArrayLike, shape: ShapeLike | None, dtype: Any, *, log_space: bool
) -> Array:
    k = single_key(who, key)
    wanted = float_dtype(who, dtype)
    sizes = result_shape(who, shape, a)
    alpha = broadcast_to_shape(who, _parameter(who, a, wanted), sizes)
    return random_gamma_p.bind(k, alpha, log_space=log_space)


def gamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Gamma numbers of shape parameter ``a`` and scale 1; they can be differentiated by ``a``.

    Shapes:
        a: broadcast to ``shape``, which is its own by default.

    Example:
        >>> from plugjax import random
        >>> random.gamma(random.key(0), 2.0, (2,)).round(2)
        Array([1.59, 1.76], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out("gamma", gamma(key=key, a=a, shape=shape, dtype=dtype), out_sharding)
    return _gamma("gamma", key, a, shape, dtype, log_space=False)


def loggamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Logarithms of the numbers of :func:`gamma`, without underflow.

    Units:
        result: nats.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.loggamma(random.key(0), 2.0, (2,)).round(2)
        Array([0.46, 0.57], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out("loggamma", loggamma(key=key, a=a, shape=shape, dtype=dtype), out_sharding)
    return _gamma("loggamma", key, a, shape, dtype, log_space=True)


def beta(
    key: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Beta numbers, in [0, 1], of density ``x**(a - 1) * (1 - x)**(b - 1)``.

    Example:
        >>> from plugjax import random
        >>> bool(random.beta(random.key(0), 2.0, 3.0) < 1)
        True
    """
    if out_sharding is not None:
        return laid_out("beta", beta(key=key, a=a, b=b, shape=shape, dtype=dtype), out_sharding)
    k = single_key("beta", key)
    wanted = float_dtype("beta", dtype)
    check_safe_cast("beta", wanted, a, b)
    sizes = result_shape("beta", shape, a, b)
    keys = split(k)
    logs = [
        loggamma(part, _parameter("beta", v, wanted), sizes, wanted)
        for part, v in zip(keys, (a, b), strict=True)
    ]
    # Scaled by the larger one: X / (X + Y) cannot become 0 / 0.
    most = lax.max(*logs)
    x, y = (lax.exp(lax.sub(v, most)) for v in logs)
    return lax.div(x, lax.add(x, y))


def dirichlet(
    key: ArrayLike,
    alpha: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Dirichlet vectors: positive, with sum 1.

    Shapes:
        alpha: ``[..., n]`` -> ``[*shape, n]``; ``shape`` is ``[...]`` by default.

    Raises:
        ValueError: ``alpha`` is a scalar, or does not broadcast.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> jnp.round(random.dirichlet(random.key(0), jnp.ones(3)).sum(), 3)
        Array(1., dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "dirichlet", dirichlet(key=key, alpha=alpha, shape=shape, dtype=dtype), out_sharding
        )
    k = single_key("dirichlet", key)
    wanted = float_dtype("dirichlet", dtype)
    concentration = _parameter("dirichlet", alpha, wanted)
    if not concentration.ndim:
        raise ValueError("dirichlet needs alpha.ndim >= 1, got a scalar.")
    *batch, size = concentration.shape
    sizes = tuple(batch) if shape is None else as_shape("dirichlet", shape)
    logs = loggamma(k, concentration, (*sizes, size), wanted)
    last = logs.ndim - 1
    scaled = lax.exp(lax.sub(logs, lax.stop_gradient(_kept(lax.reduce_max, logs, last))))
    return lax.div(scaled, _kept(lax.reduce_sum, scaled, last))


def _kept(reduce: Any, x: Array, axis: int) -> Array:
    return lax.expand_dims(reduce(x, (axis,)), (axis,))


def chisquare(
    key: ArrayLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Chi-square numbers of ``df`` degrees of freedom.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.chisquare(random.key(0), 3.0, (5,)) > 0).all()
        Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return laid_out(
            "chisquare", chisquare(key=key, df=df, shape=shape, dtype=dtype), out_sharding
        )
    k = single_key("chisquare", key)
    wanted = float_dtype("chisquare", dtype)
    check_safe_cast("chisquare", wanted, df)
    freedom = _parameter("chisquare", df, wanted)
    logs = loggamma(k, lax.div(freedom, scalar(2, freedom)), shape, wanted)
    return lax.mul(lax.exp(logs), scalar(2, logs))


def t(
    key: ArrayLike,
    df: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Student's t numbers of ``df`` degrees of freedom.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.t(random.key(0), 3.0, (2,)).round(2)
        Array([ 0.69, -3.24], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out("t", t(key=key, df=df, shape=shape, dtype=dtype), out_sharding)
    k = single_key("t", key)
    wanted = float_dtype("t", dtype)
    sizes = result_shape("t", shape, df)
    check_safe_cast("t", wanted, df)
    freedom = _parameter("t", df, wanted)
    normal_key, gamma_key = split(k)
    half = lax.div(freedom, scalar(2, freedom))
    spread = gamma(gamma_key, half, sizes, wanted)
    half = promote_shapes(half, len(sizes)) if half.ndim else half
    return lax.mul(normal(normal_key, sizes, wanted), lax.sqrt(lax.div(half, spread)))


def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """F numbers: the ratio of two chi-square ones, each divided by its degrees of freedom.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (random.f(random.key(0), 2.0, 3.0, (5,)) >= 0).all()
        Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return laid_out(
            "f", f(key=key, dfnum=dfnum, dfden=dfden, shape=shape, dtype=dtype), out_sharding
        )
    k = single_key("f", key)
    wanted = float_dtype("f", dtype)
    sizes = result_shape("f", shape, dfnum, dfden)
    check_safe_cast("f", wanted, dfnum, dfden)
    below, above = split(k)

    def mean_square(part: Array, df: ArrayLike) -> Array:
        freedom = _parameter("f", df, wanted)
        total = chisquare(part, freedom, sizes, wanted)
        freedom = promote_shapes(freedom, len(sizes)) if freedom.ndim else freedom
        return lax.div(total, freedom)

    return lax.div(mean_square(above, dfnum), mean_square(below, dfden))
