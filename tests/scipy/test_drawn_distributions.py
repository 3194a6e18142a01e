"""Quantiles, distributions of vectors and density estimates of `scipy.stats` on drawn shapes: values against SciPy, the rest against JAX."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, strategies as st

from tests.drawn import agree, arrays

# Bounds of the drawn probability and of each parameter; values outside of [0, 1] have no quantile.
QUANTILES = {
    "norm.ppf": [(-0.2, 1.2), (-2, 2), (0.5, 2)],
    "norm.isf": [(-0.2, 1.2), (-2, 2), (0.5, 2)],
    "cauchy.ppf": [(0.05, 0.95), (-2, 2), (0.5, 2)],
    "cauchy.isf": [(0.05, 0.95), (-2, 2), (0.5, 2)],
    "logistic.ppf": [(0.05, 0.95), (-2, 2), (0.5, 2)],
    "logistic.isf": [(0.05, 0.95), (-2, 2), (0.5, 2)],
    "expon.ppf": [(-0.2, 1.2), (-2, 2), (0.5, 2)],
    "uniform.ppf": [(-0.2, 1.2), (-2, 2), (0.5, 2)],
    "gumbel_l.ppf": [(0.05, 0.95), (-2, 2), (0.5, 2)],
    "gumbel_r.ppf": [(0.05, 0.95), (-2, 2), (0.5, 2)],
    "pareto.ppf": [(-0.2, 0.95), (0.5, 4), (-2, 2), (0.5, 2)],
    "bernoulli.ppf": [(0.05, 0.95), (0.1, 0.9)],
    "bernoulli.cdf": [(-1, 2), (-0.2, 1.2)],
    "poisson.entropy": [(0.5, 40), (0, 0)],
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", QUANTILES)
@given(data=st.data())
def test_quantiles(name, data):
    dtype = data.draw(st.sampled_from(["float32", "float32", "float16", "bfloat16", "int32"]))
    shape = data.draw(st.sampled_from([(), (3,), (2, 3), (0, 3)]))
    bounds = QUANTILES[name][
        : data.draw(st.integers(1 if len(QUANTILES[name]) > 2 and "pareto" not in name else 2, 4))
    ]
    args = []
    for position, (low, high) in enumerate(bounds):
        own = shape if position == 0 or data.draw(st.booleans()) else shape[1:]
        args.append(data.draw(arrays([dtype], st.just(own), low=int(low) if dtype == "int32" else low, high=int(high) if dtype == "int32" else high)))  # fmt: skip
    distribution, method = name.split(".")
    agree(
        lambda _, j, *xs: getattr(getattr(j.scipy.stats, distribution), method)(*xs),
        getattr(getattr(scipy.stats, distribution), method) if dtype == "float32" else None,
        *args,
        tolerance=20,
    )


@given(data=st.data())
def test_normal_vectors(data):
    """Means and covariances of one size, of several, and of sizes that do not fit."""
    draw = data.draw
    n, batch = draw(st.integers(1, 3)), draw(st.sampled_from([(), (2,), (4, 2)]))
    dtype = draw(st.sampled_from(["float32", "float32", "float16", "int32"]))
    x = draw(arrays([dtype], st.just((*batch, n))))
    mean = draw(arrays([dtype], st.sampled_from([(n,), (n,), (), (n + 1,)])))
    root = draw(arrays(["float32"], st.just((n, n))))
    spread = draw(
        st.sampled_from([root @ root.T + np.eye(n), np.float32(2.5), np.ones(n), np.eye(n + 1)])
    )
    cov = np.asarray(spread, np.float16 if dtype == "float16" else np.float32)
    # SciPy accepts a vector of variances, and reads a scalar mean as zeros.
    known = dtype != "float16" and mean.shape == (n,) and cov.ndim != 1
    agree(
        lambda _, j, *xs: j.scipy.stats.multivariate_normal.logpdf(*xs),
        (lambda *xs: scipy.stats.multivariate_normal.logpdf(*xs)) if known else None,
        x,
        mean,
        cov,
        tolerance=20,
    )


@given(data=st.data())
def test_shares(data):
    """Points of the simplex with all components, or without the last one."""
    draw = data.draw
    n, batch = draw(st.integers(2, 4)), draw(st.sampled_from([(), (3,), (2, 3)]))
    dtype = draw(st.sampled_from(["float32", "float32", "float16"]))
    shares = draw(arrays(["float64"], st.just((n, *batch)), low=0.1, high=1))
    shares = shares / shares.sum(0)
    x = shares[: draw(st.sampled_from([n, n - 1]))].astype(dtype)
    alpha = draw(
        arrays([dtype], st.sampled_from([(n,), (n,), (n,), (n + 2,), (1, n)]), low=0.5, high=4)
    )
    method = draw(st.sampled_from(["pdf", "logpdf"]))

    def oracle(x, alpha):
        density = getattr(scipy.stats.dirichlet, method)
        return np.apply_along_axis(lambda v: density(np.append(v, 1 - v.sum()), alpha), 0, x)

    agree(
        lambda _, j, *xs: getattr(j.scipy.stats.dirichlet, method)(*xs),
        oracle if dtype == "float32" and len(x) < n else None,
        x,
        alpha,
        tolerance=20,
    )


@given(data=st.data())
def test_counts_of_outcomes(data):
    draw = data.draw
    n = draw(st.integers(1, 4))
    x = draw(arrays(["int32", "int32", "uint8", "float32"], st.just((n,)), low=0, high=5))
    p = draw(arrays(["float32"], st.just((n,)), low=0.1, high=1))
    p = (p / p.sum()).astype(np.float32)
    total = draw(st.sampled_from([int(x.sum()), int(x.sum()) + 1]))
    agree(
        lambda _, j, x, p: j.scipy.stats.multinomial.logpmf(x, total, p),
        (lambda x, p: scipy.stats.multinomial.logpmf(x.astype(int), total, p / p.sum())) if x.dtype == np.int32 else None,
        x,
        p,
        tolerance=20,
    )  # fmt: skip


ESTIMATES = {
    "pdf": lambda k, x, other: k.pdf(x),
    "evaluate": lambda k, x, other: k.evaluate(x),
    "logpdf": lambda k, x, other: k.logpdf(x),
    "call": lambda k, x, other: k(x),
    "covariance": lambda k, x, other: k.covariance,
    "inv_cov": lambda k, x, other: k.inv_cov,
    "neff": lambda k, x, other: k.neff,
    "integrate_kde": lambda k, x, other: k.integrate_kde(other),
    "integrate_box_1d": lambda k, x, other: k.integrate_box_1d(-1.0, 0.5),
    "integrate_gaussian": lambda k, x, other: k.integrate_gaussian(x[:, 0], np.eye(len(x), dtype=x.dtype)),
}  # fmt: skip


@pytest.mark.parametrize(
    "names", [list(ESTIMATES)[:5], list(ESTIMATES)[5:]], ids=["densities", "others"]
)
@given(data=st.data())
def test_density_estimates(names, data):
    draw = data.draw
    f = ESTIMATES[draw(st.sampled_from(names))]
    d, n, m = draw(st.integers(1, 3)), draw(st.sampled_from([5, 8])), draw(st.integers(1, 4))
    sample = draw(arrays(["float32", "float32", "int32", "float16"], st.just((d, n))))
    points = draw(arrays([sample.dtype.name], st.sampled_from([(d, m), (d, m), (d + 1, m)])))
    weights = draw(st.sampled_from([None, np.linspace(1, 2, n).astype(np.float32)]))
    method = draw(st.sampled_from(["scott", "silverman", 0.5, "other"]))

    def estimate(stats, sample, points):
        kernel = stats.gaussian_kde(sample, bw_method=method, weights=weights)
        other = stats.gaussian_kde(sample + 1, bw_method=0.7)
        return f(kernel, points, other)

    regular = np.linalg.matrix_rank(np.cov(sample.astype(float))) == d
    known = sample.dtype == np.float32 and regular and len(points) == d
    agree(
        lambda _, j, *xs: estimate(j.scipy.stats, *xs),
        (lambda *xs: estimate(scipy.stats, *xs)) if known else None,
        sample,
        points,
        tolerance=100,
    )
