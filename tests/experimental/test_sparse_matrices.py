"""BCSR, COO, CSR and CSC arrays, constructors, and sparse linear algebra, with JAX and SciPy as oracles."""

import jax
import jax.experimental.sparse
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings, strategies as st

import plugjax
from plugjax.experimental import sparse
from tests.experimental.sparse_oracle import FEW, OURS, THEIRS, assert_same, bcoo, buffers, values
from tests.test_signatures import parameters

RNG = np.random.default_rng(0)
DENSE = np.array([[0, 2, 0, 0], [1, 0, 0, 3], [0, 0, 0, 0]], np.float32)
V, W = values(RNG, (4,), "float32"), values(RNG, (4, 2), "float32")
FORMATS = ["COO", "CSR", "CSC", "BCSR", "BCOO"]


def test_every_name_is_there():
    theirs = {n for n in dir(jax.experimental.sparse) if not n.startswith("_")}
    modules = {"ad", "api", "bcoo", "bcsr", "coo", "csr", "linalg", "random", "transform", "util"}
    assert theirs - modules <= set(dir(sparse))
    assert set(sparse.__all__) <= theirs
    for name in sparse.__all__:
        assert getattr(sparse, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sparse.nothing  # noqa: B018


def test_parameters_are_those_of_jax():
    functions = [
        n for n in sparse.__all__ if n.islower() and not n.endswith("_p") and n != "linalg"
    ]
    assert functions
    for name in functions:
        found, wanted = (parameters(getattr(m, name)) for m in (sparse, jax.experimental.sparse))
        assert list(found) == list(wanted), name
    for name in ("lobpcg_standard", "spsolve"):
        found, wanted = (
            parameters(getattr(m.linalg, name)) for m in (sparse, jax.experimental.sparse)
        )
        assert found == wanted, name


@pytest.mark.spread(8)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("nse", [None, 1, 5])
def test_classes(name, nse):
    def call(m):
        kind = getattr(m.sparse, name)
        mat = kind.fromdense(m.np.asarray(DENSE), nse=nse)
        leaves = m.jax.tree.leaves(mat)
        return [
            mat, leaves, mat @ m.np.asarray(V), mat @ m.np.asarray(W), m.jax.jit(lambda x: x.todense())(mat), mat.nse,
            mat.ndim, mat.size, len(mat), m.sparse.todense(mat), mat.block_until_ready(),
        ]  # fmt: skip

    assert_same(call)


@pytest.mark.parametrize("name", FORMATS)
def test_what_classes_refuse(name):
    def of(f):
        assert_same(lambda m: f(m, getattr(m.sparse, name).fromdense(m.np.asarray(DENSE))))

    of(lambda m, x: x.T)
    of(lambda m, x: x.T @ m.np.ones(3))
    of(lambda m, x: x @ x)
    of(lambda m, x: x @ m.np.ones((4, 2, 2)))
    of(lambda m, x: x + x)
    of(lambda m, x: x * 2)
    of(lambda m, x: -x)
    of(lambda m, x: x.sum())
    of(lambda m, x: m.np.ones(3) @ x)
    of(lambda m, x: {x: 1})


@pytest.mark.parametrize("name", ["COO", "CSR"])
def test_products_of_matrices(name):
    low = name.lower()

    def call(m):
        mat = getattr(m.sparse, name).fromdense(m.np.asarray(DENSE))
        matvec, matmat = (getattr(m.sparse, f"{low}_{f}") for f in ("matvec", "matmat"))
        three = m.np.arange(3.0)
        return [
            matvec(mat, m.np.asarray(V)), matvec(mat, three, transpose=True), matmat(mat, m.np.asarray(W)),
            matmat(mat, three[:, None], transpose=True),
            m.jax.grad(lambda v: (matvec(mat, v) ** 2).sum())(m.np.asarray(V)),
            m.sparse.grad(lambda x: (matmat(x, m.np.asarray(W)) ** 2).sum())(mat),
            m.sparse.grad(lambda x: (x.todense() ** 2).sum())(mat),
        ]  # fmt: skip

    assert_same(call)


@pytest.mark.spread(4)
@pytest.mark.parametrize("name", FORMATS)
def test_empty_and_eye(name):
    low = name.lower()
    assert_same(lambda m: m.sparse.empty((2, 3), "int32", sparse_format=low))
    assert_same(lambda m: m.sparse.empty((2, 3, 4), sparse_format=low))
    for shape in [(3, None, 0), (2, 4, 1), (4, 2, -1), (3, 3, 5), (2, 3, -2)]:
        assert_same(lambda m, s=shape: m.sparse.eye(*s, sparse_format=low))


def test_layouts_of_empty_and_eye():
    assert_same(lambda m: m.sparse.empty((2, 3, 4), n_batch=1, n_dense=1, nse=2))
    assert_same(lambda m: m.sparse.empty((2, 3, 4), n_batch=1, nse=2, sparse_format="bcsr"))
    assert_same(lambda m: m.sparse.empty((2, 3), n_batch=3))
    assert_same(lambda m: m.sparse.empty((2, 3), sparse_format="dia"))
    for layout in ({"n_batch": 1}, {"n_dense": 1}, {"n_batch": 2}, {"n_batch": 2, "n_dense": 1}):
        assert_same(lambda m, k=layout: m.sparse.eye(3, 3, **k).todense())


def test_scipy():
    mat = scipy.sparse.csr_matrix(DENSE)
    assert_same(lambda m: m.sparse.BCOO.from_scipy_sparse(mat))
    assert_same(lambda m: m.sparse.BCSR.from_scipy_sparse(mat))
    assert_same(lambda m: m.sparse.BCOO.from_scipy_sparse(mat, n_batch=1))


@settings(FEW, max_examples=2)
@given(st.data())
def test_bcsr(data):
    n_batch, n_dense = data.draw(st.integers(0, 1)), data.draw(st.integers(0, 1))
    shape = tuple([2] * n_batch + [3, 4] + [2] * n_dense)
    found = buffers(shape, n_batch, n_dense, 4, "float32", data.draw(st.integers(0, 99)))
    n_contract = data.draw(st.sampled_from([n_batch, n_batch + 1]))
    rhs = values(np.random.default_rng(0), (shape[n_contract], 2), "float32")

    def call(m):
        mat = m.sparse.BCSR.from_bcoo(bcoo(m, found))
        numbers = (([n_contract], [0]), ([], []))
        dense = mat.todense()
        return [
            mat, mat.indices, mat.indptr, mat.to_bcoo(), dense, mat.sum_duplicates(nse=4),
            m.sparse.bcsr_dot_general(mat, m.np.asarray(rhs), dimension_numbers=numbers),
            m.sparse.bcsr_extract(mat.indices, mat.indptr, dense), m.sparse.BCSR.fromdense(dense, n_batch=n_batch, n_dense=n_dense),
            m.sparse.grad(lambda x: (x.todense() ** 2).sum())(mat),
        ]  # fmt: skip

    assert_same(call)


def test_bcsr_under_vmap():
    dense = np.stack([DENSE, DENSE * 2])

    def call(m):
        mat = m.sparse.BCSR.fromdense(m.np.asarray(dense), n_batch=1)
        return m.jax.vmap(lambda x: x @ m.np.asarray(V))(mat), m.jax.vmap(lambda x: x)(mat)

    assert_same(call)


@pytest.mark.spread(4)
@pytest.mark.parametrize(
    ("shape", "layout"), [((4, 5), {}), ((3, 4, 5), {"n_batch": 1}), ((4, 5, 2), {"n_dense": 1})]
)
def test_random_arrays(shape, layout):
    for kwargs in (
        {"nse": 3},
        {"nse": 0.3},
        {"nse": 3, "sorted_indices": True},
        {"nse": 100},
        {"nse": 3, "unique_indices": False},
    ):
        assert_same(
            lambda m, k=kwargs: m.sparse.random_bcoo(m.jax.random.key(0), shape, **layout, **k)
        )


def test_malformed_buffers():
    ones, at = np.ones(3, np.float32), np.zeros((3, 1), np.int32)
    for data, indices, shape in [
        (ones, at, (4, 5, 6)), (ones[:2], at, (4,)), (np.ones((2, 3), np.float32), np.zeros((3, 3, 1), np.int32), (2, 4)),
    ]:  # fmt: skip
        assert_same(lambda m, b=(data, indices), s=shape: m.sparse.BCOO(b, shape=s))
    with pytest.raises(TypeError, match="indices are integers"):
        sparse.BCOO((ones, at.astype(np.float32)), shape=(4,))
    with pytest.raises(ValueError, match=r"indices have shape \[batch"):
        sparse.BCOO((ones, at), shape=())
    indptr = np.array([0, 3], np.int32)
    with pytest.raises(ValueError, match="indptr shape must match"):
        sparse.BCSR((ones, at[:, 0], indptr), shape=(2, 4))
    with pytest.raises(ValueError, match="must have 2 sparse dimensions"):
        sparse.BCSR((ones, at[:, 0], indptr), shape=(1,))
    with pytest.raises(TypeError, match="dtypes float32 and int32 differ"):
        sparse.coo_matvec(sparse.COO.fromdense(DENSE), np.ones(4, np.int32))
    with pytest.raises(ValueError, match="must have size 4"):
        sparse.coo_matvec(sparse.COO.fromdense(DENSE), np.ones(3, np.float32))


def system():
    dense = np.diag([2.0, 3.0, 4.0, 5.0]).astype(np.float32)
    dense[0, 2] = dense[3, 1] = 1
    return dense


@pytest.mark.parametrize("device", ["numpy", "xla"])
def test_spsolve(device):
    with plugjax.default_device(device):
        mat = sparse.CSR.fromdense(system())

        def solve(d, b):
            return sparse.linalg.spsolve(d, mat.indices, mat.indptr, b)

        found = plugjax.jit(solve)(mat.data, V), solve(mat.data, V)
    for x in found:
        np.testing.assert_allclose(x, np.linalg.solve(system(), V), rtol=1e-5)


def test_derivatives_of_spsolve():
    def call(m):
        mat = m.sparse.CSR.fromdense(m.np.asarray(system()))

        def solve(d, b):
            return m.sparse.linalg.spsolve(d, mat.indices, mat.indptr, b)

        args = mat.data, m.np.asarray(V)
        return [
            m.jax.jvp(solve, args, (mat.data, m.np.ones(4))),
            m.jax.grad(lambda b: solve(args[0], b).sum())(args[1]),
        ]

    assert_same(call)
    mat = sparse.CSR.fromdense(system())
    rows = np.repeat(np.arange(4), np.diff(mat.indptr))
    by_data = plugjax.grad(lambda d: sparse.linalg.spsolve(d, mat.indices, mat.indptr, V).sum())(
        mat.data
    )
    dense = plugjax.grad(lambda a: plugjax.numpy.linalg.solve(a, V).sum())(
        plugjax.numpy.asarray(system())
    )
    np.testing.assert_allclose(by_data, np.asarray(dense)[rows, np.asarray(mat.indices)], rtol=1e-4)


def test_spsolve_under_vmap():
    mat = sparse.CSR.fromdense(system())
    found = plugjax.vmap(lambda b: sparse.linalg.spsolve(mat.data, mat.indices, mat.indptr, b))(W.T)
    np.testing.assert_allclose(found, np.linalg.solve(system(), W).T, rtol=1e-5)


def test_malformed_systems():
    for change in (
        {"b": np.ones(3, np.float32)},
        {"b": np.ones(4, np.int32)},
        {"reorder": 7},
        {"b": W},
    ):

        def call(m, change=change):
            mat = m.sparse.CSR.fromdense(m.np.asarray(system()))
            given = {"b": V, **change}
            b = m.np.asarray(given.pop("b"))
            return m.sparse.linalg.spsolve(mat.data, mat.indices, mat.indptr, b, **given)

        assert_same(call)


@pytest.mark.parametrize("kind", ["matrix", "function", "sparse"])
def test_lobpcg(kind):
    rng = np.random.default_rng(0)
    q, _ = np.linalg.qr(rng.normal(size=(30, 30)))
    a = (q * np.linspace(1, 30, 30)) @ q.T
    a, start = a.astype(np.float32), rng.normal(size=(30, 3)).astype(np.float32)

    def call(m):
        matrix = m.np.asarray(a)
        mat = m.sparse.BCOO.fromdense(matrix)
        operand = {"matrix": matrix, "function": lambda x: matrix @ x, "sparse": lambda x: mat @ x}[
            kind
        ]
        theta, u, steps = m.sparse.linalg.lobpcg_standard(operand, m.np.asarray(start), m=40)
        return theta, u, int(steps)

    theta, u, steps = call(OURS)
    wanted, _, their_steps = call(THEIRS)
    np.testing.assert_allclose(theta, wanted, rtol=1e-5)
    np.testing.assert_allclose(a @ u, u * theta, atol=2e-3)
    assert steps <= their_steps + 5


def test_malformed_searches():
    a = np.eye(12, dtype=np.float32)
    for start, operand in [
        (np.ones((12, 0), np.float32), a), (np.ones((12, 3), np.float32), a), (np.ones((12, 1), np.float32), a[:6]),
    ]:  # fmt: skip
        assert_same(
            lambda m, s=start, o=operand: m.sparse.linalg.lobpcg_standard(
                m.np.asarray(o), m.np.asarray(s)
            )
        )
    assert_same(lambda m: m.sparse.linalg.lobpcg_standard(lambda x: x[:6], m.np.ones((12, 1))))
    assert_same(
        lambda m: m.sparse.linalg.lobpcg_standard(lambda x: x.astype("int32"), m.np.ones((12, 1)))
    )
