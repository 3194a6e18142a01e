"""Clustering: the names of ``jax.scipy.cluster``."""

from plugjax.scipy.cluster import vq

__all__ = ["vq"]
