"""Linear algebra of sparse matrices: the names of ``jax.experimental.sparse.linalg``."""

from plugjax.experimental.sparse.linalg.lobpcg import lobpcg_standard
from plugjax.experimental.sparse.linalg.systems import spsolve
from plugjax.extend.transforms import boundaries

__all__ = ["lobpcg_standard", "spsolve"]

boundaries(globals(), __all__)
