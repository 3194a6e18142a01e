"""Rejection sampling, and distributions on top of it, against JAX: the same numbers for the same key."""

import jax
import numpy as np
import pytest
from jax import random as jax_random

import plugjax
from plugjax import random

# Bits are compared: see the root's conftest.
COMPARES_BITS = True

A = np.array([0.01, 0.3, 1, 4, 50], np.float32)
COUNTS = np.array([0, 5, 50, 1000, 1e5], np.float32)
COV = np.array([[2, 0.5], [0.5, 1]], np.float32)
MEAN = np.array([1, 2], np.float32)

SAMPLES = {
    "gamma": lambda r, k: r.gamma(k, A, (20, 5)),
    "gamma in float16": lambda r, k: r.gamma(k, 2.0, (3,), np.float16),
    "loggamma": lambda r, k: r.loggamma(k, A, (20, 5)),
    "beta": lambda r, k: r.beta(k, A, 2.0),
    "dirichlet": lambda r, k: r.dirichlet(k, A, (3,)),
    "chisquare": lambda r, k: r.chisquare(k, A + 1, (3, 5)),
    "t": lambda r, k: r.t(k, A + 1, (3, 5)),
    "f": lambda r, k: r.f(k, A + 1, 3.0),
    "poisson": lambda r, k: r.poisson(
        k, np.array([0, 0.5, 3, 9.9, 11, 100, 1e5], np.float32), (5, 7)
    ),
    "binomial": lambda r, k: r.binomial(k, COUNTS, 0.3, (5, 5)),
    "binomial of frequent successes": lambda r, k: r.binomial(k, COUNTS, 0.8),
    "binomial outside of the domain": lambda r, k: r.binomial(
        k, np.float32([np.nan, -1, np.inf, 3, 3]), np.float32([0.1, 0.1, 0.2, np.nan, 1.5])
    ),
    "multinomial": lambda r, k: r.multinomial(k, 100, np.float32([0.2, 0.3, 0.5])),
    "generalized_normal": lambda r, k: r.generalized_normal(k, 1.5, (4,)),
    "ball": lambda r, k: r.ball(k, 3, 1.0, (4,)),
    **{
        f"multivariate_normal by {m}": lambda r, k, m=m: r.multivariate_normal(
            k, MEAN, COV, (3,), method=m
        )
        for m in ("cholesky", "eigh", "svd")
    },
    "orthogonal": lambda r, k: r.orthogonal(k, 3, (2,)),
    "orthogonal, wide": lambda r, k: r.orthogonal(k, 2, m=4),
}


@pytest.mark.spread(8)
@pytest.mark.parametrize("name", SAMPLES)
def test_the_numbers_of_jax(name):
    sample = SAMPLES[name]
    ours, theirs = sample(random, random.key(3)), sample(jax_random, jax_random.key(3))
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(ours, theirs, rtol=5e-6, atol=1e-6)


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", ["gamma", "poisson", "binomial"])
def test_compiled_for_a_backend(name, on_backend):
    sample = SAMPLES[name]
    ours = plugjax.jit(lambda k: sample(random, k))(random.key(3))
    np.testing.assert_allclose(ours, sample(jax_random, jax_random.key(3)), rtol=5e-6, atol=1e-6)


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", ["gamma", "loggamma"])
def test_gradients(name):
    def total(r, k):
        return lambda a: getattr(r, name)(k, a).sum()

    ours = plugjax.grad(total(random, random.key(1)))(A)
    theirs = jax.grad(total(jax_random, jax_random.key(1)))(A)
    np.testing.assert_allclose(ours, theirs, rtol=2e-4)


def test_gamma_under_vmap_is_gamma_of_each_key():
    keys = random.split(random.key(0), 3)
    together = plugjax.vmap(lambda k: random.gamma(k, 2.5, (4,)))(keys)
    np.testing.assert_allclose(together, [random.gamma(k, 2.5, (4,)) for k in keys], rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda k: random.gamma(k, A, (3,)), ValueError, "broadcast"),
        (lambda k: random.gamma(k, 1.0, (), np.int32), ValueError, "gamma needs a float dtype"),
        (lambda k: random.dirichlet(k, 1.0), ValueError, "alpha.ndim >= 1"),
        (lambda k: random.beta(k, 1j, 1.0), ValueError, "cannot safely cast"),
        (lambda k: random.multivariate_normal(k, MEAN, COV, method="lu"), ValueError, "method"),
        (lambda k: random.multivariate_normal(k, MEAN, COV[0]), ValueError, "cov.ndim"),
    ],
)
def test_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(random.key(0))


def test_key_dtype():
    assert random.key_dtype() == random.key(0).dtype
