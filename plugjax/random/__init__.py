"""Random numbers as functions of keys: the names of ``jax.random``, and its numbers, bit for bit."""

from typing import TYPE_CHECKING

from plugjax.extend.transforms import late, publish
from plugjax.random import (
    hashed as _hashed,  # noqa: F401  # makes its generators known
    rbg as _rbg,  # noqa: F401  # makes its generators known
)
from plugjax.random.bits import bits, permutation, randint, uniform
from plugjax.random.choices import categorical, choice
from plugjax.random.distributions import (
    bernoulli,
    cauchy,
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
from plugjax.random.gamma import (
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    loggamma,
    random_gamma_p,
    t,
)
from plugjax.random.keys import (
    PRNGKey,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    prng_key,
    split,
    wrap_key_data,
)

# Loaded on first use: programs without linear algebra do not pay for it.
_LATE = {
    **dict.fromkeys(("ball", "generalized_normal", "multivariate_normal", "orthogonal"), ".directions"),
    **dict.fromkeys(("binomial", "multinomial", "poisson"), ".counts"),
}  # fmt: skip
if TYPE_CHECKING:
    from plugjax.random.counts import binomial, multinomial, poisson
    from plugjax.random.directions import ball, generalized_normal, multivariate_normal, orthogonal


if not TYPE_CHECKING:
    # Type checkers report names that do not exist.
    __getattr__ = late(globals(), _LATE)


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATE})


__all__ = [
    "PRNGKey", "ball", "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy", "chisquare", "choice",
    "clone", "dirichlet", "double_sided_maxwell", "exponential", "f", "fold_in", "gamma", "generalized_normal",
    "geometric", "gumbel", "key", "key_data", "key_dtype", "key_impl", "laplace", "loggamma", "logistic",
    "lognormal", "maxwell", "multinomial", "multivariate_normal", "normal", "orthogonal", "pareto",
    "permutation", "poisson", "prng_key", "rademacher", "randint", "random_gamma_p", "rayleigh", "split", "t",
    "triangular", "truncated_normal", "uniform", "wald", "weibull_min", "wrap_key_data",
]  # fmt: skip

publish(globals(), __all__)
