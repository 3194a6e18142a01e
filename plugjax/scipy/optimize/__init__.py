"""Minimization: the names of ``jax.scipy.optimize``."""

from plugjax.extend.transforms import publish
from plugjax.scipy.optimize.minimization import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]

publish(globals(), __all__)
