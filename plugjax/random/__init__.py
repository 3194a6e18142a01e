"""Random numbers as functions of keys: the names of ``jax.random``, and its numbers, bit for bit."""

from plugjax.random.bits import bits, permutation, randint, uniform
from plugjax.random.distributions import (
    bernoulli,
    categorical,
    cauchy,
    choice,
    double_sided_maxwell,
    exponential,
    geometric,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    normal,
    pareto,
    rademacher,
    rayleigh,
    triangular,
    truncated_normal,
    wald,
    weibull_min,
)
from plugjax.random.keys import (
    PRNGKey,
    clone,
    fold_in,
    key,
    key_data,
    key_impl,
    prng_key,
    split,
    wrap_key_data,
)

__all__ = [
    "PRNGKey", "bernoulli", "bits", "categorical", "cauchy", "choice", "clone", "double_sided_maxwell", "exponential",
    "fold_in", "geometric", "gumbel", "key", "key_data", "key_impl", "laplace", "logistic", "lognormal", "maxwell",
    "normal", "pareto", "permutation", "prng_key", "rademacher", "randint", "rayleigh", "split", "triangular",
    "truncated_normal", "uniform", "wald", "weibull_min", "wrap_key_data",
]  # fmt: skip
