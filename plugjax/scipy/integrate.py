"""Integrals of sampled functions: the names of ``jax.scipy.integrate``."""

from plugjax.extend.transforms import publish
from plugjax.numpy.calculus import trapezoid

__all__ = ["trapezoid"]

publish(globals(), __all__)
