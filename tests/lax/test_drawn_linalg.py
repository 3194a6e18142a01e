"""Decompositions of `plugjax.lax.linalg` on drawn dtypes, shapes (empty ones too) and options.

Results have JAX's types, or JAX's error; and the product of the factors is the operand.
"""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import assume, given, strategies as st

from plugjax import lax
from tests.drawn import agree, arrays, operands

DTYPES = ["float32", "float32", "complex64", "complex64", "float16", "bfloat16", "int32", "bool"]
INEXACT = ["float32", "complex64"]
SIZES = st.sampled_from([0, 1, 2, 3, 4])
BATCH = st.sampled_from([(), (), (2,), (0,), (2, 3)])
ANY_SHAPE = st.lists(SIZES, max_size=3).map(tuple)
SQUARE = st.tuples(BATCH, SIZES).map(lambda t: (*t[0], t[1], t[1]))
OBLONG = st.tuples(BATCH, SIZES, SIZES).map(lambda t: (*t[0], t[1], t[2]))
FLAG = st.booleans()


def H(x):  # noqa: N802  # Hermitian conjugate
    return np.conj(np.swapaxes(x, -1, -2))


def h(n, x):
    return n.conj(n.swapaxes(x, -1, -2))


def flags(*names):
    return st.fixed_dictionaries(dict.fromkeys(names, FLAG))


def diagonal(n, w):
    """Matrices with these diagonals."""
    return n.eye(w.shape[-1], dtype=w.dtype) * w[..., None, :]


# The shapes and the options.
DECOMPOSITIONS = {
    "cholesky": (SQUARE, flags("symmetrize_input")),
    "eig": (SQUARE, flags("compute_left_eigenvectors", "compute_right_eigenvectors")),
    "eigh": (SQUARE, flags("lower", "symmetrize_input", "sort_eigenvalues")),
    "hessenberg": (SQUARE, st.just({})),
    "lu": (OBLONG, st.just({})),
    "qr": (OBLONG, flags("full_matrices", "pivoting")),
    "qdwh": (st.tuples(SIZES, SIZES).map(lambda t: (max(t), min(t))), st.just({})),
    "schur": (SQUARE, flags("compute_schur_vectors")),
    "svd": (OBLONG, flags("full_matrices", "compute_uv")),
    "tridiagonal": (SQUARE, flags("lower")),
}


@pytest.mark.parametrize("name", DECOMPOSITIONS)
@given(data=st.data())
def test_types(name, data):
    """Any dtype and shape: everything but stacks of matrices is refused."""
    shapes, options = DECOMPOSITIONS[name]
    x = data.draw(operands(DTYPES, st.one_of(shapes, shapes, shapes, ANY_SHAPE)))
    # JAX returns arrays of size -1 here, and stretches a single row or column to symmetrize it.
    assume(name != "hessenberg" or 0 not in x.shape[-2:])
    assume(name != "cholesky" or 1 not in x.shape[-2:] or len(set(x.shape[-2:])) == 1)
    options = data.draw(options)
    agree(lambda _, j, x: getattr(j.lax.linalg, name)(x, **options), None, x)


def regular(x):
    """Far from singular, and Hermitian: every decomposition is accurate."""
    return (x @ H(x) + 2 * np.eye(x.shape[-1], dtype=x.dtype)).astype(x.dtype)


@given(data=st.data())
def test_cholesky(data):
    x = regular(data.draw(arrays(INEXACT, SQUARE)))
    options = data.draw(flags("symmetrize_input"))

    def rebuilt(n, j, x):
        lower = j.lax.linalg.cholesky(x, **options)
        return lower @ h(n, lower)

    agree(rebuilt, lambda x: x, x, tolerance=20)


@given(data=st.data())
def test_eig(data):
    x = data.draw(arrays(INEXACT, SQUARE))

    def products(n, j, x):
        w, left, right = j.lax.linalg.eig(x)
        x = x.astype(w.dtype)
        return x @ right - right * w[..., None, :], h(n, left) @ x - w[..., None] * h(n, left)

    def nothing(x):
        return [np.zeros(x.shape, np.complex128)] * 2

    agree(products, nothing, x, tolerance=20)


@given(data=st.data())
def test_eigh(data):
    x = regular(data.draw(arrays(INEXACT, SQUARE)))
    options = data.draw(flags("lower", "symmetrize_input", "sort_eigenvalues"))

    def rebuilt(n, j, x):
        v, w = j.lax.linalg.eigh(x, **options)
        return (v * w[..., None, :].astype(v.dtype)) @ h(n, v), h(n, v) @ v

    eye = lambda x: np.broadcast_to(np.eye(x.shape[-1]), x.shape)  # noqa: E731
    agree(rebuilt, lambda x: (x, eye(x)), x, tolerance=20)


@given(data=st.data())
def test_qr(data):
    x = data.draw(arrays(INEXACT, OBLONG))
    options = data.draw(flags("full_matrices", "pivoting"))

    def rebuilt(n, j, x):
        q, r, *order = j.lax.linalg.qr(x, **options)
        if order:
            x = n.take_along_axis(x, order[0][..., None, :], -1)
        return q @ r - x, h(n, q) @ q - n.eye(q.shape[-1], dtype=q.dtype), n.tril(r, -1)

    def nothing(x):
        rows, columns = x.shape[-2:]
        k = rows if options["full_matrices"] else min(rows, columns)
        return [np.zeros((*x.shape[:-2], *s), x.dtype) for s in ((rows, columns), (k, k), (k, columns))]  # fmt: skip

    agree(rebuilt, nothing, x, tolerance=20)


@given(data=st.data())
def test_lu(data):
    x = data.draw(arrays(INEXACT, OBLONG))

    def rebuilt(n, j, x):
        factors, pivots, order = j.lax.linalg.lu(x)
        rows, columns = factors.shape[-2:]
        k = min(rows, columns)
        lower = n.tril(factors[..., :, :k], -1) + n.eye(rows, k, dtype=factors.dtype)
        again = j.lax.linalg.lu_pivots_to_permutation(pivots, rows)
        x = n.take_along_axis(x, order[..., :, None], -2)
        return lower @ n.triu(factors[..., :k, :]) - x, again - order

    agree(
        rebuilt,
        lambda x: (np.zeros(x.shape, x.dtype), np.zeros(x.shape[:-1], int)),
        x,
        tolerance=20,
    )


@given(data=st.data())
def test_svd(data):
    x = data.draw(arrays(INEXACT, OBLONG))
    full = data.draw(FLAG)

    def rebuilt(n, j, x):
        u, s, vh = j.lax.linalg.svd(x, full_matrices=full)
        k = s.shape[-1]
        return (u[..., :k] * s[..., None, :].astype(u.dtype)) @ vh[..., :k, :], s

    agree(rebuilt, lambda x: (x, np.linalg.svd(x, compute_uv=False)), x, tolerance=20)
    start, stop = data.draw(st.integers(-1, 4)), data.draw(st.integers(0, 5))
    agree(
        lambda _, j, x: j.lax.linalg.svd(x, full_matrices=False, compute_uv=full, subset_by_index=(start, stop)),
        None,
        x,
    )  # fmt: skip


@given(data=st.data())
def test_subsets_of_eigenvalues(data):
    x = regular(data.draw(arrays(INEXACT, SQUARE)))
    subset = data.draw(st.integers(-1, 4)), data.draw(st.integers(0, 5))
    agree(lambda _, j, x: j.lax.linalg.eigh(x, subset_by_index=subset), None, x)


@given(data=st.data())
def test_forms(data):
    """Hessenberg, Schur, tridiagonal and polar forms, and the operand rebuilt from them."""
    x = data.draw(arrays(INEXACT, SQUARE))

    def from_hessenberg(n, j, x):
        form, taus = j.lax.linalg.hessenberg(x)
        size = x.shape[-1]
        if size < 2:
            return form
        q = n.broadcast_to(n.eye(size, dtype=x.dtype), x.shape)
        inner = j.lax.linalg.householder_product(form[..., 1:, :-1], taus)
        q = q.at[..., 1:, 1:].set(inner)
        return q @ n.triu(form, -1) @ h(n, q)

    agree(from_hessenberg, lambda x: x, x, tolerance=40)

    def from_schur(n, j, x):
        t, q = j.lax.linalg.schur(x)
        return q @ t @ h(n, q)

    agree(from_schur, lambda x: x, x, tolerance=40)
    y = regular(x)
    agree(
        lambda n, j, y: j.lax.linalg.tridiagonal(y)[1:3],
        (lambda y: tridiagonal_parts(y)) if y.ndim == 2 and len(y) > 1 and y.dtype == "float32" else None,
        y,
        tolerance=40,
    )  # fmt: skip
    if y.ndim == 2:
        agree(lambda n, j, y: j.lax.linalg.qdwh(y)[0] @ j.lax.linalg.qdwh(y)[1], lambda y: y, y, tolerance=40)  # fmt: skip


def tridiagonal_parts(y):
    """LAPACK's form: its reflections have our signs."""
    _, d, e, _, _ = scipy.linalg.lapack.dsytrd(y, lower=1)
    return d, e


@given(data=st.data())
def test_triangular_solve(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    batch, size, columns = data.draw(BATCH), data.draw(SIZES), data.draw(SIZES)
    options = data.draw(flags("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal"))
    a = data.draw(operands([dtype], st.just((*batch, size, size))))
    a = (a + 4 * np.eye(size)).astype(dtype)
    shape = (size, columns) if options["left_side"] else (columns, size)
    if data.draw(st.integers(0, 9)) == 0:
        shape = data.draw(ANY_SHAPE)
    b = data.draw(operands([dtype] if data.draw(st.integers(0, 9)) else DTYPES, st.just((*batch, *shape))))  # fmt: skip

    def oracle(a, b):
        a = np.tril(a) if options["lower"] else np.triu(a)
        if options["unit_diagonal"]:
            a = a - diagonal(np, np.diagonal(a, axis1=-2, axis2=-1)) + np.eye(size)
        a = a.conj() if options["conjugate_a"] else a
        a = np.swapaxes(a, -1, -2) if options["transpose_a"] else a
        if options["left_side"]:
            return np.linalg.solve(a, b)
        return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)

    agree(
        lambda _, j, a, b: j.lax.linalg.triangular_solve(a, b, **options),
        oracle,
        a,
        b,
        tolerance=20,
    )


@given(data=st.data())
def test_householder_products(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    batch, rows, columns = data.draw(BATCH), data.draw(SIZES), data.draw(SIZES)
    a = data.draw(arrays([dtype], st.just((*batch, rows, columns))))
    count = data.draw(st.integers(0, max(min(rows, columns), 1)))
    taus = data.draw(arrays([dtype] if data.draw(st.integers(0, 9)) else DTYPES, st.just((*batch, count))))  # fmt: skip
    agree(lambda _, j, a, taus: j.lax.linalg.householder_product(a, taus), None, a, taus)
    c = data.draw(arrays([dtype], st.just((*batch, rows, 3))))
    options = data.draw(flags("left", "transpose"))
    agree(lambda _, j, a, taus, c: j.lax.linalg.ormqr(a, taus, c, **options), None, a, taus, c)


@given(data=st.data())
def test_tridiagonal_solve(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    batch, size, columns = data.draw(BATCH), data.draw(SIZES), data.draw(SIZES)
    low, d, up = (data.draw(arrays([dtype], st.just((*batch, size)))) for _ in range(3))
    d = (d + 9).astype(dtype) if dtype != "bool" else d
    b = data.draw(arrays([dtype] if data.draw(st.integers(0, 9)) else DTYPES, st.just((*batch, size, columns))))  # fmt: skip
    if data.draw(st.integers(0, 9)) == 0:
        up = up[..., :1]

    def oracle(low, d, up, b):
        a = diagonal(np, d)
        for i in range(size - 1):
            a[..., i + 1, i], a[..., i, i + 1] = low[..., i + 1], up[..., i]
        return np.linalg.solve(a, b)

    agree(
        lambda _, j, *xs: j.lax.linalg.tridiagonal_solve(*xs), oracle, low, d, up, b, tolerance=20
    )


@given(data=st.data())
def test_updates(data):
    size = data.draw(SIZES)
    r = data.draw(arrays(DTYPES, st.just((size, size))))
    w = data.draw(arrays([r.dtype.name] if data.draw(st.integers(0, 5)) else DTYPES, st.just((size,))))  # fmt: skip
    agree(lambda _, j, r, w: j.lax.linalg.cholesky_update(r, w), None, r, w)
    batch = data.draw(BATCH)
    a = data.draw(arrays(INEXACT, st.just((*batch, size, 2))))
    c = data.draw(arrays([a.dtype.name], st.just((*batch, size, size) if data.draw(st.integers(0, 5)) else (size,))))  # fmt: skip
    agree(
        lambda n, j, a, c: j.lax.linalg.symmetric_product(a, c, alpha=2.0, beta=0.5, symmetrize_output=True),
        None,
        a,
        c,
    )  # fmt: skip


@given(data=st.data())
def test_pivots(data):
    pivots = data.draw(arrays(["int32", "int32", "uint8", "float32"], st.tuples(SIZES).map(tuple), 0, 3))  # fmt: skip
    size = data.draw(st.integers(0, 6))
    assume(pivots.dtype.kind not in "iu" or not pivots.size or int(pivots.max()) < max(size, 1))

    def oracle(pivots):
        order = np.arange(size)
        for i, p in enumerate(pivots):
            order[[i, p]] = order[[p, i]]
        return order

    agree(lambda _, j, p: j.lax.linalg.lu_pivots_to_permutation(p, size), oracle, pivots)


@pytest.mark.parametrize("batch", [(), (0,), (3, 5), (16,), (17,), (4, 30)])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_permutations_of_few_and_of_many_matrices(batch, count):
    rng = np.random.default_rng(0)
    pivots = np.array([rng.integers(i, 6, batch) for i in range(count)], np.int32)
    pivots = np.moveaxis(pivots.reshape(count, *batch), 0, -1)
    found = lax.linalg.lu_pivots_to_permutation(pivots, 6)
    for index in np.ndindex(*batch):
        expected = np.arange(6)
        for i, j in enumerate(pivots[index]):
            expected[[i, j]] = expected[[j, i]]
        np.testing.assert_array_equal(found[index], expected)
    assert (found.shape, found.dtype) == ((*batch, 6), np.int32)
