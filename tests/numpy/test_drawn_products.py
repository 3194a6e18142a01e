"""Products and linear algebra, with batches of shapes drawn by hypothesis."""

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from tests.drawn import DTYPES, agree, arrays

SIZES = st.integers(1, 4)
BATCH = st.lists(st.integers(1, 3), max_size=2).map(tuple)
NUMBERS = [dtype for dtype in DTYPES if dtype != "bool"]
INEXACT = ["float32", "complex64"]

# Relations between the shapes of two operands; `n`, `m`, `k` are sizes, `b` and `c` batches that
# broadcast.
PAIRS = {
    "matmul": [("nk", "km"), ("k", "km"), ("nk", "k"), ("bnk", "ckm"), ("bnk", "k")],
    "dot": [("nk", "km"), ("k", "k"), ("bnk", "km"), ("", "nk"), ("nk", "k")],
    "inner": [("nk", "mk"), ("k", "k"), ("k", "mk")],
    "outer": [("n", "m"), ("nk", "m")],
    "vdot": [("k", "k"), ("nk", "nk")],
    "vecdot": [("bk", "ck"), ("k", "k")],
    "matvec": [("bnk", "ck"), ("nk", "k")],
    "vecmat": [("bk", "ckm"), ("k", "km")],
    "kron": [("nk", "km"), ("n", "nk")],
    "tensordot": [("nkm", "kmn")],
    "einsum of matrices": [("nk", "km")],
    "einsum of batches": [("bnk", "bmk")],
    "einsum to a diagonal": [("nk", "kn")],
    "convolve": [("n", "m")],
    "correlate": [("n", "m")],
    "polymul": [("n", "m")],
    "polyadd": [("n", "m")],
    "polyval": [("n", "mk")],
}
CALLS = {
    "einsum of matrices": lambda n, x, y: n.einsum("nk,km->mn", x, y),
    "einsum of batches": lambda n, x, y: n.einsum("...nk,...mk->...nm", x, y),
    "einsum to a diagonal": lambda n, x, y: n.einsum("ij,ji->i", x, y),
}


@st.composite
def pairs(draw, name, dtypes):
    sizes = {letter: (draw(SIZES),) for letter in "nmk"}
    sizes["b"] = draw(BATCH)
    sizes["c"] = tuple(size if draw(st.booleans()) else 1 for size in sizes["b"])
    shapes = [sum((sizes[s] for s in spec), ()) for spec in draw(st.sampled_from(PAIRS[name]))]
    if draw(st.integers(0, 9)) == 0 and shapes[1]:
        shapes[1] = (*shapes[1][:-1], 5)
    dtype = st.just([draw(st.sampled_from(dtypes))]) if draw(st.booleans()) else st.just(dtypes)
    return [draw(arrays(draw(dtype), st.just(shape))) for shape in shapes]


@pytest.mark.parametrize("name", PAIRS)
@given(data=st.data())
def test_products(name, data):
    x, y = data.draw(pairs(name, NUMBERS))
    f = CALLS.get(name, lambda n, x, y: getattr(n, name)(x, y))
    # In small dtypes sums overflow or round; NumPy's `polymul` drops leading zeros.
    small = {x.dtype.name, y.dtype.name} & {"float16", "bfloat16", "int8", "uint8"}
    oracle = None if small or name == "polymul" else lambda x, y: f(np, x, y)
    agree(lambda n, _, x, y: f(n, x, y), oracle, x, y)


def _definite(x):
    return x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(x.shape[-1], dtype=x.dtype)


# For a well-conditioned square matrix; values are compared where they are unique.
SQUARE = {
    "det": lambda la, x: la.det(x),
    "slogdet": lambda la, x: la.slogdet(x),
    "inv": lambda la, x: la.inv(x),
    "cholesky": lambda la, x: la.cholesky(x),
    "eigvalsh": lambda la, x: la.eigvalsh(x),
    "eigh": lambda la, x: la.eigh(x)[0],
    "svdvals": lambda la, x: la.svdvals(x),
    "svd": lambda la, x: la.svd(x)[1],
    "pinv": lambda la, x: la.pinv(x),
    "matrix_rank": lambda la, x: la.matrix_rank(x),
    "matrix_power": lambda la, x: la.matrix_power(x, 3),
    "matrix_power negative": lambda la, x: la.matrix_power(x, -2),
    "cond": lambda la, x: la.cond(x),
    "trace": lambda la, x: la.trace(x),
    "diagonal": lambda la, x: la.diagonal(x),
    "matrix_transpose": lambda la, x: la.matrix_transpose(x),
}


@pytest.mark.parametrize("name", SQUARE)
@given(data=st.data())
def test_square_matrices(name, data):
    size = data.draw(SIZES)
    x = _definite(data.draw(arrays(INEXACT, BATCH.map(lambda b: (*b, size, size)))))
    agree(lambda n, _, x: SQUARE[name](n.linalg, x), lambda x: SQUARE[name](np.linalg, x), x)


@pytest.mark.parametrize("name", SQUARE)
@given(data=st.data())
def test_types_of_linear_algebra(name, data):
    """Any dtype and shape: everything but stacks of matrices is refused."""
    x = data.draw(arrays(["bool", "int32", "uint8", "float16", "bfloat16", "float32", "complex64"]))
    # JAX adds the transpose before it checks the shape, so that a row stretches to a square; a row
    # has no factors.
    assume(name not in ("cholesky", "eigh", "eigvalsh") or x.ndim < 2 or x.shape[-1] == x.shape[-2])
    agree(lambda n, _, x: SQUARE[name](n.linalg, x), None, x)


@pytest.mark.parametrize("many", [True, False], ids=["matrix", "vector"])
@given(data=st.data())
def test_systems(many, data):
    size = data.draw(SIZES)
    x = _definite(data.draw(arrays(INEXACT, BATCH.map(lambda b: (*b, size, size)))))
    shape = (*x.shape[:-1], 2) if many else (size,)
    y = data.draw(arrays(INEXACT, st.just(shape)))
    agree(lambda n, _, x, y: n.linalg.solve(x, y), np.linalg.solve, x, y)


@pytest.mark.parametrize("order", [None, 1, 2, 3, np.inf, -np.inf, 0, "fro", "nuc"], ids=str)
@given(data=st.data())
def test_norms(order, data):
    x = data.draw(arrays(["int32", "float32", "complex64"], st.lists(SIZES, max_size=3).map(tuple)))
    axes = st.one_of(
        st.none(), st.integers(-3, 2), st.tuples(st.integers(-3, 2), st.integers(0, 2))
    )
    axis = data.draw(axes)
    # A repeated axis: JAX's error is that of the first operation that checks it, or none.
    assume(not isinstance(axis, tuple) or axis[0] % max(x.ndim, 1) != axis[1])
    options = {"ord": order, "axis": axis, "keepdims": data.draw(st.booleans())}
    agree(lambda n, _, x: n.linalg.norm(x, **options), lambda x: np.linalg.norm(x, **options), x)
