"""Probability distributions and statistics with the interface of ``scipy.stats``; one module for each distribution."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from plugjax.scipy.stats.samples import mode, rankdata, sem

# Loaded on first use.
_DISTRIBUTIONS = (
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "gennorm", "geom",
    "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial", "multivariate_normal", "nbinom", "norm", "pareto",
    "poisson", "t", "truncnorm", "uniform", "vonmises", "wrapcauchy",
)  # fmt: skip

if TYPE_CHECKING:
    from plugjax.scipy.stats.kde import gaussian_kde


def __getattr__(name: str) -> Any:
    if name in _DISTRIBUTIONS:
        return importlib.import_module(f"plugjax.scipy.stats.{name}")
    if name == "gaussian_kde":
        return importlib.import_module("plugjax.scipy.stats.kde").gaussian_kde
    raise AttributeError(f"module 'plugjax.scipy.stats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_DISTRIBUTIONS, "gaussian_kde"})


__all__ = [
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "gaussian_kde", "gennorm",
    "geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "mode", "multinomial", "multivariate_normal", "nbinom",
    "norm", "pareto", "poisson", "rankdata", "sem", "t", "truncnorm", "uniform", "vonmises", "wrapcauchy",
]  # fmt: skip
