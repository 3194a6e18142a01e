"""Geometry: the names of ``jax.scipy.spatial``."""

from plugjax.scipy.spatial import transform

__all__ = ["transform"]
