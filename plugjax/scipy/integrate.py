"""Integrals of sampled functions: the names of ``jax.scipy.integrate``."""

from plugjax.extend.transforms import boundaries
from plugjax.numpy.calculus import trapezoid

__all__ = ["trapezoid"]

boundaries(globals(), __all__)
