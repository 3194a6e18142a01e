"""Factorizations and functions of matrices in `scipy.linalg` with drawn options, shapes and dtypes.

A factorization is unique up to signs or phases at most, so the product of its factors is compared.
"""

import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, strategies as st

from tests.drawn import agree, arrays

DTYPES = ["float32", "complex64", "int32", "float16", "bool"]
SHAPES = st.sampled_from(
    [(3, 3), (1, 1), (4, 2), (2, 4), (0, 0), (3,), (2, 3, 3), (2, 2, 4), (), (0, 3)]
)
OPTIONS = {
    "lu": {"permute_l": [False, True]},
    "lu_factor": {"overwrite_a": [False, True]},
    "qr": {"mode": ["full", "r", "economic", "raw", "other"], "pivoting": [False, True]},
    "svd": {"full_matrices": [True, False], "compute_uv": [True, False], "lapack_driver": ["gesdd", "gesvd", "other"]},
    "schur": {"output": ["real", "complex", "other"]},
    "hessenberg": {"calc_q": [False, True]},
    "polar": {"side": ["right", "left", "other"], "method": ["svd", "qdwh", "other"]},
    "cholesky": {"lower": [False, True]},
    "cho_factor": {"lower": [False, True]},
    "eigh": {"lower": [True, False], "eigvals_only": [False, True], "type": [1, 2], "eigvals": [None, (0, 1)]},
    "det": {}, "inv": {}, "expm": {"upper_triangular": [False, True], "max_squarings": [0, 16]}, "sqrtm": {},
    "funm": {"disp": [True, False]},
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPTIONS)
@given(data=st.data())
def test_shapes_dtypes_and_errors(name, data):
    # JAX reads the first element of an empty array in these two.
    shapes = SHAPES.filter(math.prod) if name in ("sqrtm", "funm") else SHAPES
    a = data.draw(arrays(DTYPES, shapes))
    options = {k: data.draw(st.sampled_from(v)) for k, v in OPTIONS[name].items()}

    def call(n, j, a):
        found = getattr(j.scipy.linalg, name)(*[a, n.tanh] if name == "funm" else [a], **options)
        return found[0] if name == "cho_factor" else found

    agree(call, None, a)


def rebuilt_from_svd(s, a, how):
    u, values, vh = s.svd(a, full_matrices=how)
    k = min(a.shape)
    return (u[:, :k] * values) @ vh[:k]


def rebuilt_from_qr(s, a, how):
    q, r = s.qr(a, mode="full" if how else "economic")
    return q @ r


def rebuilt_from_qr_multiply(s, a, how):
    """``c Q``, whose product with R is ``c a``; ``c`` has as many columns as ``a`` has rows."""
    product, r = s.qr_multiply(a, np.eye(len(a), dtype=a.dtype), mode="right")
    return product @ r


def rebuilt_from_schur(s, a, how):
    form, vectors = s.schur(a, output="complex" if how else "real")
    return vectors @ form @ vectors.conj().T + 0j


def rebuilt_from_complex_schur(s, a, how):
    form, vectors = s.rsf2csf(*s.schur(a))
    return vectors @ form @ vectors.conj().T


def rebuilt_from_hessenberg(s, a, how):
    form, q = s.hessenberg(a, calc_q=True)
    return q @ form @ q.conj().T


def rebuilt_from_eigh(s, a, how):
    values, vectors = s.eigh(a + a.conj().T, lower=how)
    return (vectors * values) @ vectors.conj().T - a.conj().T


def rebuilt_from_polar(s, a, how):
    u, p = s.polar(a, side="right" if how else "left", method="svd")
    return u @ p if how else p @ u


REBUILT = {
    "lu": (lambda s, a, how: s.lu(a)[0].astype(a.dtype) @ s.lu(a)[1] @ s.lu(a)[2], False),
    "lu, permuted": (lambda s, a, how: (lambda l, u: l @ u)(*s.lu(a, permute_l=True)), False),
    "svd": (rebuilt_from_svd, False),
    "qr": (rebuilt_from_qr, False),
    "qr_multiply": (rebuilt_from_qr_multiply, False),
    "schur": (rebuilt_from_schur, True),
    "rsf2csf": (rebuilt_from_complex_schur, True),
    "hessenberg": (rebuilt_from_hessenberg, True),
    "eigh": (rebuilt_from_eigh, True),
    "polar": (rebuilt_from_polar, True),
}


@pytest.mark.parametrize("name", REBUILT)
@given(data=st.data())
def test_factors_make_the_matrix_again(name, data):
    f, square = REBUILT[name]
    m = data.draw(st.integers(1, 4))
    n = m if square else data.draw(st.integers(1, 4))
    a = data.draw(arrays(["float32", "complex64"], st.just((m, n))))
    how = data.draw(st.booleans())
    agree(lambda _, j, a: f(j.scipy.linalg, a, how), lambda a: a, a, tolerance=50)


# Unique results, from a matrix, a vector and a size.
VALUES = {
    "eigh_tridiagonal": lambda s, a, v, n: s.eigh_tridiagonal(v.real, v.real[1:] / 2, eigvals_only=True),
    "eigh_tridiagonal, some": lambda s, a, v, n: s.eigh_tridiagonal(
        v.real, v.real[1:] / 2, eigvals_only=True, select="i", select_range=(0, len(v) - 1)
    ),
    "eigh_tridiagonal, other": lambda s, a, v, n: s.eigh_tridiagonal(v.real, v.real, eigvals_only=True),
    "fiedler_companion": lambda s, a, v, n: s.fiedler_companion(v + 4),
    "funm": lambda s, a, v, n: s.funm(a, lambda x: x * x * x),
    "invpascal": lambda s, a, v, n: s.invpascal(n),
    "invpascal, lower": lambda s, a, v, n: s.invpascal(n, kind="lower"),
    "invpascal, other": lambda s, a, v, n: s.invpascal(n, kind="other"),
    "svd, values": lambda s, a, v, n: s.svd(a, compute_uv=False),
    "qr, its pivots": lambda s, a, v, n: s.qr(a, mode="r", pivoting=True)[1],
    "lu_factor": lambda s, a, v, n: s.lu_factor(a),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
@given(data=st.data())
def test_unique_results(name, data):
    f, m = VALUES[name], data.draw(st.integers(2, 4))
    dtype = data.draw(st.sampled_from(["float32", "complex64"]))
    a = data.draw(arrays([dtype], st.just((m, m))))
    v = data.draw(arrays([dtype], st.just((m,))))
    # SciPy accepts the same names as JAX, and takes a vector that is too long.
    agree(
        lambda _, j, a, v: f(j.scipy.linalg, a, v, m),
        None if name.endswith("other") else lambda a, v: f(scipy.linalg, a, v, m),
        a,
        v,
        tolerance=100,
    )
