"""Sparse and matrix-free linear algebra: the names of ``jax.scipy.sparse``."""

from plugjax.scipy.sparse import linalg

__all__ = ["linalg"]
