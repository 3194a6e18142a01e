"""Minimization: the names of ``jax.scipy.optimize``."""

from plugjax.scipy.optimize.minimization import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]
