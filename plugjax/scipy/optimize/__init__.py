"""Minimization: the names of ``jax.scipy.optimize``."""

from plugjax.extend.transforms import boundaries
from plugjax.scipy.optimize.minimization import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]

boundaries(globals(), __all__)
