"""Linear algebra with the interface of ``scipy.linalg``."""

from plugjax.extend.transforms import publish
from plugjax.scipy.linalg.eigen import eigh, eigh_tridiagonal, rsf2csf, schur
from plugjax.scipy.linalg.factorizations import (
    cho_factor,
    cholesky,
    hessenberg,
    lu,
    lu_factor,
    polar,
    qr,
    qr_multiply,
    svd,
)
from plugjax.scipy.linalg.matrix_functions import (
    expm,
    expm_frechet,
    funm,
    solve_sylvester,
    sqrtm,
)
from plugjax.scipy.linalg.special_matrices import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    dft,
    fiedler,
    fiedler_companion,
    hadamard,
    hankel,
    helmert,
    hilbert,
    invhilbert,
    invpascal,
    leslie,
    pascal,
    toeplitz,
)
from plugjax.scipy.linalg.systems import (
    cho_solve,
    det,
    inv,
    lu_solve,
    solve,
    solve_triangular,
)

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "companion", "convolution_matrix", "det", "dft",
    "eigh", "eigh_tridiagonal", "expm", "expm_frechet", "fiedler", "fiedler_companion", "funm", "hadamard", "hankel",
    "helmert", "hessenberg", "hilbert", "inv", "invhilbert", "invpascal", "leslie", "lu", "lu_factor", "lu_solve",
    "pascal", "polar", "qr", "qr_multiply", "rsf2csf", "schur", "solve", "solve_sylvester", "solve_triangular", "sqrtm",
    "svd", "toeplitz",
]  # fmt: skip

publish(globals(), __all__)
