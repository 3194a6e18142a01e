"""Kernel density estimate: a normal distribution around each datum, all with one covariance.

The covariance is that of the data times the square of a bandwidth. The integral of a product of two normal densities is
a normal density of the difference of the means, with the sum of the covariances. So integrals against a normal
distribution or another estimate are sums of such densities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import plugjax.numpy as jnp
from plugjax import lax, random
from plugjax.extend import pytree
from plugjax.extend.core import Array
from plugjax.lax.linalg import cholesky
from plugjax.nn.normalization import logsumexp
from plugjax.numpy.linalg import inv
from plugjax.numpy.promotion import ArrayLike, as_operand, same_dtype
from plugjax.scipy.special import ndtr
from plugjax.scipy.stats import multivariate_normal

__all__ = ["gaussian_kde"]

Bandwidth = str | ArrayLike | Callable[["gaussian_kde"], ArrayLike] | None


@dataclass(frozen=True, init=False, slots=True)
class gaussian_kde:  # noqa: N801  # JAX's name
    """Kernel density estimate with normal kernels; a pytree of arrays.

    Args:
        dataset: ``[n]``, or ``[d, n]`` for data of d dimensions.
        bw_method: ``"scott"`` (the default), ``"silverman"``, a number, or a function of the estimate that returns a
            number: the factor of the data's standard deviations.
        weights: ``[n]``; equal ones by default.

    Raises:
        NotImplementedError: complex data.
        ValueError: less than two numbers, weights of another shape, or another method.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.scipy.stats import gaussian_kde
        >>> gaussian_kde(jnp.array([-1.0, 1.0])).integrate_box_1d(-jnp.inf, 0.0).round(4)
        Array(0.5, dtype=float32)
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(
        self, dataset: ArrayLike, bw_method: Bandwidth = None, weights: ArrayLike | None = None
    ) -> None:
        data: Any = jnp.atleast_2d(as_operand("gaussian_kde", dataset))
        if data.dtype.kind == "c":
            raise NotImplementedError("gaussian_kde takes no complex data.")
        if data.size < 2:
            raise ValueError("gaussian_kde: dataset needs two elements or more.")
        size = data.shape[1]
        if weights is None:
            (data,) = same_dtype("gaussian_kde", data, inexact=True)
            shares: Any = jnp.full(size, 1.0 / size, dtype=data.dtype)
        else:
            data, shares = same_dtype("gaussian_kde", data, weights, inexact=True)
            shares = jnp.atleast_1d(shares)
            if shares.ndim != 1:
                raise ValueError("gaussian_kde: weights is a vector.")
            if len(shares) != size:
                raise ValueError("gaussian_kde: weights needs an entry for each point.")
            shares = shares / shares.sum()
        self._set(dataset=data, weights=shares, neff=1 / (shares * shares).sum())
        factor = _bandwidth(self, "scott" if bw_method is None else bw_method)
        covariance = jnp.atleast_2d(jnp.cov(data, aweights=None if weights is None else shares))
        self._set(covariance=covariance * factor**2, inv_cov=inv(covariance) / factor**2)

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def d(self) -> int:
        """Number of dimensions."""
        return int(self.dataset.shape[0])

    @property
    def n(self) -> int:
        """Number of data."""
        return int(self.dataset.shape[1])

    def evaluate(self, points: ArrayLike) -> Array:
        """The density at points.

        Args:
            points: ``[m]`` for one dimension, ``[d, m]``, or one point ``[d]``.

        Returns:
            ``[m]``.

        Raises:
            ValueError: points of another dimension.
        """
        weights, exponents = self._kernels("evaluate", points)
        return (weights * lax.exp(exponents)).sum(-1)

    def __call__(self, points: ArrayLike) -> Array:
        """The same as :meth:`evaluate`."""
        return self.evaluate(points)

    def pdf(self, x: ArrayLike) -> Array:
        """The same as :meth:`evaluate`."""
        return self.evaluate(x)

    def logpdf(self, x: ArrayLike) -> Array:
        """Logarithm of the density at points, also where that underflows."""
        weights, exponents = self._kernels("logpdf", x)
        return logsumexp(exponents, axis=-1, b=weights)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """Integral of the density times that of a normal distribution.

        Raises:
            ValueError: ``mean`` or ``cov`` of another dimension.
        """
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"integrate_gaussian: mean needs {self.d} coordinates.")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"integrate_gaussian: cov needs {self.d} rows and columns.")
        kernels = multivariate_normal.pdf(self.dataset.T, mean, self.covariance + cov)
        return (self.weights * kernels).sum()

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """Integral of the density of one dimension from ``low`` to ``high``.

        Raises:
            ValueError: data of more dimensions, or bounds that are not scalars.
        """
        if self.d != 1:
            raise ValueError("integrate_box_1d needs data of one coordinate.")
        if jnp.ndim(low) or jnp.ndim(high):
            raise ValueError("integrate_box_1d: low and high are scalars.")
        sigma = lax.sqrt(self.covariance[0])
        upper, lower = (ndtr((x - self.dataset[0]) / sigma) for x in (high, low))
        return (self.weights * (upper - lower)).sum()

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """Integral of the product with another estimate.

        Raises:
            ValueError: the other one has another dimension.
        """
        if other.d != self.d:
            raise ValueError("integrate_kde: both estimates need the same number of coordinates.")
        centers = other.dataset.T
        kernels = multivariate_normal.pdf(
            self.dataset.T[:, None], centers, self.covariance + other.covariance
        )
        return (self.weights * (kernels * other.weights).sum(-1)).sum()

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Array:
        """Points drawn from the estimate.

        Args:
            key: a key.
            shape: shape of the sample.

        Returns:
            ``[d, *shape]``.
        """
        ind_key, eps_key = random.split(key)
        chosen = random.choice(ind_key, self.n, shape=shape, p=self.weights)
        center = jnp.zeros(self.d, self.covariance.dtype)
        noise = random.multivariate_normal(
            eps_key, center, self.covariance, shape=shape, dtype=self.dataset.dtype
        )
        return self.dataset[:, chosen] + jnp.moveaxis(noise, -1, 0)

    def integrate_box(
        self, low_bounds: ArrayLike, high_bounds: ArrayLike, maxpts: int | None = None
    ) -> Array:
        """Not available, as in JAX.

        Raises:
            NotImplementedError: always; see :meth:`integrate_box_1d`.
        """
        raise NotImplementedError("integrate_box is not implemented. Use integrate_box_1d.")

    def set_bandwidth(self, bw_method: Bandwidth = None) -> None:
        """Not available, as in JAX: an estimate is immutable.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("set_bandwidth: an estimate is immutable. Make a new one.")

    def _kernels(self, who: str, points: ArrayLike) -> tuple[Any, Any]:
        """The weights, and the logarithm of each kernel at each point: ``[m, n]``."""
        places: Any = self._as_points(as_operand(who, points))
        data, weights, places, precision = same_dtype(
            who, self.dataset, self.weights, places, self.inv_cov, inexact=True
        )
        whitening = cholesky(precision)
        data, places = data.T @ whitening, places.T @ whitening
        log_norm = lax.log(jnp.diagonal(whitening)).sum() - self.d * math.log(2 * math.pi) / 2
        distances = places[:, None] - data
        return weights, log_norm - 0.5 * (distances * distances).sum(-1)

    def _as_points(self, points: Any) -> Any:
        if points.dtype.kind == "c":
            raise NotImplementedError("gaussian_kde takes no complex points.")
        points = jnp.atleast_2d(points)
        d, m = points.shape
        if d == self.d:
            return points
        if d == 1 and m == self.d:
            return points.reshape(m, 1)
        raise ValueError(f"gaussian_kde: points have {d} coordinates, the dataset has {self.d}.")


def _bandwidth(estimate: gaussian_kde, method: Any) -> Any:
    d, exponent = estimate.d, -1.0 / (estimate.d + 4)
    if isinstance(method, str):
        if method == "scott":
            return jnp.power(estimate.neff, exponent)
        if method == "silverman":
            return jnp.power(estimate.neff * (d + 2) / 4.0, exponent)
    elif jnp.isscalar(method):
        return method
    elif callable(method):
        return method(estimate)
    raise ValueError("gaussian_kde: bw_method is 'scott', 'silverman', a scalar or a function.")


def _flatten(estimate: gaussian_kde) -> tuple[tuple[Any, ...], None]:
    return (
        estimate.neff,
        estimate.dataset,
        estimate.weights,
        estimate.covariance,
        estimate.inv_cov,
    ), None


def _unflatten(_: None, children: Iterable[Any]) -> gaussian_kde:
    estimate = object.__new__(gaussian_kde)
    names = ("neff", "dataset", "weights", "covariance", "inv_cov")
    estimate._set(**dict(zip(names, children, strict=True)))
    return estimate


pytree.register(gaussian_kde, _flatten, _unflatten)
