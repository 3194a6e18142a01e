"""Linear algebra of sparse matrices: the names of ``jax.experimental.sparse.linalg``."""

from plugjax.experimental.sparse.linalg.lobpcg import lobpcg_standard
from plugjax.experimental.sparse.linalg.systems import spsolve
from plugjax.extend.transforms import publish

__all__ = ["lobpcg_standard", "spsolve"]

publish(globals(), __all__)
