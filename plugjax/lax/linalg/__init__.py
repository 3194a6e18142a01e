"""Linear algebra as primitives: factorizations of matrices in the last two axes, with their derivatives.

Host kernels are LAPACK's, through NumPy and SciPy. Where a program cannot call Python, most primitives are computed by
``plugjax.lax.linalg.decompositions``, which is written in other primitives.
"""

from plugjax.extend.transforms import publish
from plugjax.lax.linalg.cholesky import (
    cholesky,
    cholesky_p,
    cholesky_update,
    cholesky_update_p,
    rules as _cholesky_rules,
)
from plugjax.lax.linalg.eig import EigImplementation, eig, eig_p, rules as _eig_rules
from plugjax.lax.linalg.eigh import EighImplementation, eigh, eigh_p, rules as _eigh_rules
from plugjax.lax.linalg.householder import (
    householder_product,
    householder_product_p,
    ormqr,
    ormqr_p,
    rules as _householder_rules,
)
from plugjax.lax.linalg.lu import (
    lu,
    lu_p,
    lu_pivots_to_permutation,
    lu_pivots_to_permutation_p,
    rules as _lu_rules,
)
from plugjax.lax.linalg.polar import qdwh
from plugjax.lax.linalg.qr import qr, qr_p, rules as _qr_rules
from plugjax.lax.linalg.schur_hessenberg import (
    hessenberg,
    hessenberg_p,
    rules as _schur_rules,
    schur,
    schur_p,
)
from plugjax.lax.linalg.solve import rules as _solve_rules
from plugjax.lax.linalg.svd import SvdAlgorithm, rules as _svd_rules, svd, svd_p
from plugjax.lax.linalg.symmetric_product import (
    rules as _product_rules,
    symmetric_product,
    symmetric_product_p,
)
from plugjax.lax.linalg.triangular_solve import (
    rules as _triangular_rules,
    triangular_solve,
    triangular_solve_p,
)
from plugjax.lax.linalg.tridiagonal import (
    rules as _tridiagonal_rules,
    tridiagonal,
    tridiagonal_p,
    tridiagonal_solve,
    tridiagonal_solve_p,
)

rule_sets = [
    _cholesky_rules, _eig_rules, _eigh_rules, _householder_rules, _lu_rules, _product_rules, _qr_rules, _schur_rules,
    _solve_rules, _svd_rules, _triangular_rules, _tridiagonal_rules,
]  # fmt: skip

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_p",
    "cholesky_update",
    "cholesky_update_p",
    "eig",
    "eig_p",
    "eigh",
    "eigh_p",
    "hessenberg",
    "hessenberg_p",
    "householder_product",
    "householder_product_p",
    "lu",
    "lu_p",
    "lu_pivots_to_permutation",
    "lu_pivots_to_permutation_p",
    "ormqr",
    "ormqr_p",
    "qdwh",
    "qr",
    "qr_p",
    "schur",
    "schur_p",
    "svd",
    "svd_p",
    "symmetric_product",
    "symmetric_product_p",
    "triangular_solve",
    "triangular_solve_p",
    "tridiagonal",
    "tridiagonal_p",
    "tridiagonal_solve",
    "tridiagonal_solve_p",
]

publish(globals(), __all__)
