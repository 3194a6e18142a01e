"""Integrals of sampled functions: the names of ``jax.scipy.integrate``."""

from plugjax.numpy.calculus import trapezoid

__all__ = ["trapezoid"]
