"""Linear algebra with the interface of ``numpy.linalg``: matrices are in the last two axes."""

from plugjax.extend.transforms import publish
from plugjax.numpy.linalg.conditioning import cond
from plugjax.numpy.linalg.determinants import det, slogdet
from plugjax.numpy.linalg.factorizations import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from plugjax.numpy.linalg.norms import matrix_norm, matrix_rank, norm, vector_norm
from plugjax.numpy.linalg.products import (
    cross,
    diagonal,
    matmul,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)
from plugjax.numpy.linalg.systems import (
    inv,
    lstsq,
    matrix_power,
    pinv,
    solve,
    tensorinv,
    tensorsolve,
)

__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip

publish(globals(), __all__)
