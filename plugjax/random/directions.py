"""Random vectors and matrices: correlated normal ones, points of balls, orthogonal matrices."""

from __future__ import annotations

import operator

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.extend.dtypes import DTypeLike
from plugjax.extend.meshes import ShardingLike
from plugjax.lax.axes import ShapeLike
from plugjax.lax.placement import laid_out
from plugjax.numpy import linalg
from plugjax.numpy.einsum import einsum
from plugjax.numpy.promotion import (
    ArrayLike,
    broadcast_shape,
    canonical_dtype,
    converted,
    same_dtype,
    to_inexact,
)
from plugjax.random.bits import as_shape, float_dtype
from plugjax.random.distributions import exponential, normal, rademacher
from plugjax.random.gamma import gamma
from plugjax.random.keys import single_key, split

__all__ = ["ball", "generalized_normal", "multivariate_normal", "orthogonal"]


def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Normal vectors of a mean and a covariance.

    Args:
        key: a key.
        mean: ``[..., n]``.
        cov: ``[..., n, n]``, positive definite, or semidefinite with another method than ``"cholesky"``.
        shape: the leading axes of the result; by default those of ``mean`` and ``cov``, broadcast.
        dtype: of the numbers that are drawn; that of ``mean`` by default.
        method: how ``cov`` is factored: ``"cholesky"``, ``"eigh"`` or ``"svd"``.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Raises:
        ValueError: shapes that do not fit, or a method that is none of these.

    Example:
        >>> from plugjax import numpy as jnp, random
        >>> random.multivariate_normal(random.key(0), jnp.zeros(2), jnp.eye(2), (3,)).round(2)
        Array([[ 1.62,  2.03],
               [-0.43, -0.08],
               [ 0.18, -0.97]], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "multivariate_normal",
            multivariate_normal(
                key=key, mean=mean, cov=cov, shape=shape, dtype=dtype, method=method
            ),
            out_sharding,
        )
    k = single_key("multivariate_normal", key)
    who = "multivariate_normal"
    centre, spread = same_dtype(who, mean, cov, inexact=True)
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError(f"{who}: method is 'svd', 'eigh' or 'cholesky', got {method!r}.")
    wanted = centre.dtype if dtype is None else float_dtype(who, dtype)
    if not dtypes.is_float(wanted):
        raise ValueError(f"{who} needs a float dtype, got {wanted.name}.")
    if not centre.ndim:
        raise ValueError(f"{who} needs mean.ndim >= 1, got a scalar.")
    if spread.ndim < 2:
        raise ValueError(f"{who} needs cov.ndim >= 2, got {spread.ndim}.")
    size = centre.shape[-1]
    if spread.shape[-2:] != (size, size):
        raise ValueError(
            f"{who}: with a mean of n={size} numbers cov needs shape (..., n, n), got {spread.shape}."
        )
    natural = broadcast_shape(who, centre.shape[:-1], spread.shape[:-2])
    sizes = natural if shape is None else as_shape(who, shape)
    if broadcast_shape(who, natural, sizes) != sizes:
        raise ValueError(f"{who}: shape {sizes} is not one that mean and cov broadcast to")
    if method == "svd":
        vectors, values, _ = linalg.svd(spread)
        factor = vectors * lax.sqrt(values[..., None, :])
    elif method == "eigh":
        values, vectors = linalg.eigh(spread)
        factor = vectors * lax.sqrt(values[..., None, :])
    else:
        factor = linalg.cholesky(spread)
    drawn = normal(k, (*sizes, size), wanted)
    return centre + einsum("...ij,...j->...i", factor, drawn)


def orthogonal(
    key: ArrayLike,
    n: int,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Orthogonal matrices (unitary ones of complex dtypes), uniform over their group.

    Args:
        key: a key.
        n: number of rows.
        shape: leading axes of the result.
        dtype: floating or complex.
        m: number of columns, ``n`` by default; rows or columns, whichever are fewer, are orthonormal.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Reference:
        Mezzadri, "How to generate random matrices from the classical compact groups", 2007.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> q = random.orthogonal(random.key(0), 2)
        >>> jnp.allclose(q @ q.T, jnp.eye(2), atol=1e-5)
        Array(True, dtype=bool)
    """
    if out_sharding is not None:
        return laid_out(
            "orthogonal", orthogonal(key=key, n=n, shape=shape, dtype=dtype, m=m), out_sharding
        )
    k = single_key("orthogonal", key)
    wanted = canonical_dtype("orthogonal", float if dtype is None else dtype)
    if not dtypes.is_inexact(wanted):
        raise ValueError(f"orthogonal needs a floating or complex dtype, got {wanted.name}.")
    sizes = as_shape("orthogonal", shape)
    rows = operator.index(n)
    columns = rows if m is None else operator.index(m)
    z = normal(k, (*sizes, max(rows, columns), min(rows, columns)), wanted)
    q, r = linalg.qr(z)
    # The signs of R make the factor of a Gaussian matrix uniform.
    found = q * lax.sign(linalg.diagonal(r))[..., None, :]
    return found.mT if rows < columns else found


def generalized_normal(
    key: ArrayLike,
    p: ArrayLike,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Numbers of density proportional to ``exp(-abs(x)**p)``.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.generalized_normal(random.key(0), 2.0, (2,)).round(2)
        Array([0.95, 0.09], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "generalized_normal",
            generalized_normal(key=key, p=p, shape=shape, dtype=dtype),
            out_sharding,
        )
    k = single_key("generalized_normal", key)
    wanted = float_dtype("generalized_normal", dtype)
    sizes = as_shape("generalized_normal", shape)
    size_key, side_key = split(k)
    inverse = 1 / to_inexact("generalized_normal", p)
    return rademacher(side_key, sizes, wanted) * gamma(size_key, inverse, sizes, wanted) ** inverse


def ball(
    key: ArrayLike,
    d: int,
    p: ArrayLike = 2,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Points of the unit ball of the norm of order ``p``, uniform: ``[*shape, d]``.

    Reference:
        Barthe, Guedon, Mendelson, Naor, "A probabilistic approach to the geometry of the l_p^n-ball", 2005.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> (jnp.linalg.norm(random.ball(random.key(0), 3)) <= 1).item()
        True
    """
    if out_sharding is not None:
        return laid_out("ball", ball(key=key, d=d, p=p, shape=shape, dtype=dtype), out_sharding)
    k = single_key("ball", key)
    wanted = float_dtype("ball", dtype)
    sizes = as_shape("ball", shape)
    point_key, radius_key = split(k)
    g = generalized_normal(point_key, p, (*sizes, operator.index(d)), wanted)
    e = exponential(radius_key, sizes, wanted)
    order = to_inexact("ball", p)
    total = (abs(g) ** order).sum(-1) + e
    return converted(g / (total ** (1 / order))[..., None], wanted)
