"""Linear systems whose matrix is a function: the names of ``jax.scipy.sparse.linalg``."""

from plugjax.extend.transforms import publish
from plugjax.scipy.sparse.linalg.conjugate_gradients import cg
from plugjax.scipy.sparse.linalg.minimal_residuals import gmres
from plugjax.scipy.sparse.linalg.stabilized_gradients import bicgstab

__all__ = ["bicgstab", "cg", "gmres"]

publish(globals(), __all__)
