"""Sparse linear systems."""

from __future__ import annotations

from typing import Any

from plugjax import numpy as jnp
from plugjax.experimental.sparse.solve import spsolve_p


def spsolve(
    data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1
) -> Any:
    """The solution of ``A x = b`` with a square CSR matrix A.

    SciPy solves it on the host, on every backend.

    Shapes:
        data: ``[nse]``, floating or complex.
        indices: ``[nse]``, integer.
        indptr: ``[n + 1]``, integer.
        b: ``[n]`` -> the same.

    Args:
        data: stored values.
        indices: their columns.
        indptr: where each row starts.
        b: the right-hand side.
        tol: not used: the solution is direct.
        reorder: not used; 0 to 3, as in JAX.

    Raises:
        ValueError: shapes or dtypes do not fit.

    Differs from JAX:
        It can be mapped, and differentiated in reverse by ``data`` too.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import sparse
        >>> M = sparse.CSR.fromdense(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
        >>> sparse.linalg.spsolve(M.data, M.indices, M.indptr, jnp.ones(2))
        Array([0.5 , 0.25], dtype=float32)
    """
    operands = map(jnp.asarray, (data, indices, indptr, b))
    return spsolve_p.bind(*operands, tol=float(tol), reorder=reorder)
