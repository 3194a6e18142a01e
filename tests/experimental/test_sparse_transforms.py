"""Derivatives, batching and compilation of sparse arrays, with JAX as oracle."""

import numpy as np
import pytest

import plugjax
from plugjax.experimental import sparse
from tests.experimental.sparse_oracle import OURS, THEIRS, assert_same, bcoo, buffers, values

RNG = np.random.default_rng(0)
M = buffers((3, 4), 0, 0, 5, seed=3)
BATCHED = buffers((2, 3, 4), 1, 0, 4, seed=5)
DENSE_AXIS = buffers((3, 4, 2), 0, 1, 4, seed=6)
V, W = values(RNG, (4,), "float32"), values(RNG, (4, 2), "float32")
D = values(RNG, (3, 4), "float32")


def with_data(mat, data):
    return type(mat)((data, mat.indices), shape=mat.shape)


# Functions of the data of a sparse array, (m, mat, data).
OF_DATA = {
    "todense": lambda m, mat, d: with_data(mat, d).todense(),
    "matvec": lambda m, mat, d: with_data(mat, d) @ m.np.asarray(V),
    "matmat": lambda m, mat, d: with_data(mat, d) @ m.np.asarray(W),
    "product from the left": lambda m, mat, d: m.np.asarray(D).T @ with_data(mat, d),
    "square": lambda m, mat, d: (with_data(mat, d) * with_data(mat, d)).todense(),
    "times dense": lambda m, mat, d: (with_data(mat, d) * m.np.asarray(D)).todense(),
    "sum": lambda m, mat, d: with_data(mat, d).sum(1).todense(),
    "sorted": lambda m, mat, d: with_data(mat, d).sort_indices().todense(),
    "duplicates": lambda m, mat, d: (
        with_data(mat, d).sum_duplicates(nse=4, remove_zeros=False).data
    ),
    "transposed": lambda m, mat, d: with_data(mat, d).T.todense(),
    "slice": lambda m, mat, d: with_data(mat, d)[1:, ::2].todense(),
    "reshaped": lambda m, mat, d: with_data(mat, d).reshape(2, 6).todense(),
    "sparse product": lambda m, mat, d: (with_data(mat, d) @ mat.T).todense(),
    "dense layout": lambda m, mat, d: (
        with_data(mat, d).update_layout(n_dense=1, on_inefficient=None).data
    ),
    "batch layout": lambda m, mat, d: (
        with_data(mat, d).update_layout(n_batch=1, on_inefficient=None).data
    ),
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", OF_DATA)
def test_derivatives_by_values(name):
    def call(m):
        mat = bcoo(m, M)

        def f(d):
            return OF_DATA[name](m, mat, d)

        def loss(d):
            return (f(d) ** 2).sum()

        def derivatives(data):
            forward = m.jax.jvp(f, (data,), (data * 2 + 1,))
            # JAX has no reverse derivative of products of two sparse arrays.
            return (
                forward
                if name == "sparse product"
                else [forward, m.jax.grad(loss)(data), m.jax.jacrev(f)(data)]
            )

        # Compiled whole, JAX takes a fraction of the time.
        run = m.jax.jit(derivatives) if m is THEIRS else derivatives
        return run(mat.data)

    assert_same(call)


def test_reverse_derivative_of_sparse_products():
    mat = bcoo(OURS, M)
    dense = mat.todense()
    found = sparse.grad(lambda x: ((x @ x.T).todense() ** 2).sum())(mat)
    wanted = plugjax.grad(lambda x: ((x @ x.T) ** 2).sum())(dense)
    np.testing.assert_allclose(
        found.data, sparse.bcoo_extract(mat, wanted, assume_unique=True).data, rtol=1e-5
    )


def test_derivatives_by_dense_operands():
    def call(m):
        mat = bcoo(m, M)
        return [
            m.jax.grad(lambda v: ((mat @ v) ** 2).sum())(m.np.asarray(V)),
            m.jax.grad(lambda w: ((mat @ w) ** 2).sum())(m.np.asarray(W)),
            m.jax.grad(lambda d: (mat * d).todense().sum())(m.np.asarray(D)),
            m.jax.grad(lambda d: (m.sparse.BCOO.fromdense(d, nse=6) @ m.np.asarray(V)).sum())(m.np.asarray(D)),
            m.jax.grad(lambda d: (m.sparse.bcoo_extract(mat, d, assume_unique=True).data ** 2).sum())(m.np.asarray(D)),
            m.jax.jacfwd(lambda d: m.sparse.bcoo_dot_general_sampled(
                d, m.np.asarray(W), mat.indices, dimension_numbers=(([1], [0]), ([], []))))(m.np.asarray(D)),
        ]  # fmt: skip

    assert_same(call)


LOSSES = {
    "matvec": lambda m, mat, v: ((mat @ v) ** 2).sum(),
    "todense": lambda m, mat, v: m.np.sin(mat.todense()).sum() + v.sum(),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (1,), 2])
def test_sparse_gradients(name, argnums):
    def call(m):
        def f(mat, v):
            return LOSSES[name](m, mat, v)

        args = bcoo(m, M), m.np.asarray(V)
        return [
            m.sparse.grad(f, argnums)(*args), m.sparse.value_and_grad(f, argnums)(*args),
            m.sparse.grad(lambda *xs: (f(*xs), 3.0), argnums, has_aux=True)(*args),
        ]  # fmt: skip

    assert_same(call)


@pytest.mark.parametrize("name", ["jacfwd", "jacrev", "jacobian"])
def test_sparse_jacobians(name):
    def call(m):
        transform = getattr(m.sparse, name)
        mat = bcoo(m, M)
        return [
            transform(lambda x: x @ m.np.asarray(V))(mat), transform(lambda v: mat @ v)(m.np.asarray(V)),
            transform(lambda x, v: x @ v, argnums=(0, 1))(mat, m.np.asarray(V)),
        ]  # fmt: skip

    assert_same(call)


def test_gradients_of_trees():
    def call(m):
        def f(p):
            return ((p["m"] @ p["v"]) ** 2).sum() + p["b"]

        return m.sparse.grad(f)({"m": bcoo(m, M), "v": m.np.asarray(V), "b": 2.0})

    assert_same(call)


MAPPED = {
    "todense": lambda m, x: x.todense(),
    "matvec": lambda m, x: x @ m.np.asarray(V),
    "sparse result": lambda m, x: x,
    "transposed": lambda m, x: x.T,
    "sorted": lambda m, x: x.sort_indices(),
    "sum": lambda m, x: x.sum(0),
    "elementwise": lambda m, x: -x * 2,
    "scalar": lambda m, x: x.sum(),
    "shape": lambda m, x: m.np.zeros(x.shape),
}


@pytest.mark.parametrize("name", MAPPED)
def test_vmap(name):
    assert_same(lambda m: m.jax.vmap(lambda x: MAPPED[name](m, x))(bcoo(m, BATCHED)))
    assert_same(lambda m: m.jax.jit(m.jax.vmap(lambda x: MAPPED[name](m, x)))(bcoo(m, BATCHED)))


def test_vmap_axes():
    assert_same(lambda m: m.jax.vmap(lambda x: x, in_axes=1)(bcoo(m, BATCHED)))
    assert_same(lambda m: m.jax.vmap(lambda x: x)(bcoo(m, M)))
    assert_same(lambda m: m.jax.vmap(lambda x: x, out_axes=1)(bcoo(m, BATCHED)))
    assert_same(
        lambda m: m.jax.vmap(lambda x, v: x @ v, in_axes=(0, None))(
            bcoo(m, BATCHED), m.np.asarray(V)
        )
    )
    assert_same(
        lambda m: m.jax.vmap(lambda x, v: x @ v, in_axes=(None, 1))(bcoo(m, M), m.np.asarray(W))
    )
    assert_same(lambda m: m.jax.vmap(lambda v: bcoo(m, M) * v)(m.np.asarray(D)))
    assert_same(lambda m: m.jax.vmap(lambda d: m.sparse.BCOO.fromdense(d, nse=3))(m.np.asarray(D)))
    two = buffers((2, 3, 4), 2, 0, 2)
    assert_same(lambda m: m.jax.vmap(m.jax.vmap(lambda x: x * 3))(bcoo(m, two)))
    assert_same(
        lambda m: m.jax.vmap(lambda t: t["x"], in_axes=({"x": 0, "y": None},))(
            {"x": bcoo(m, BATCHED), "y": 1.0}
        )
    )
    assert_same(lambda m: m.jax.vmap(m.jax.grad(lambda d: (d**2).sum()))(bcoo(m, BATCHED).data))


def test_gradient_under_vmap():
    def call(m):
        grads = m.jax.vmap(lambda x: m.sparse.grad(lambda y: (y @ m.np.asarray(V)).sum())(x))
        return grads(bcoo(m, BATCHED))

    assert_same(call)


@pytest.mark.parametrize("device", ["numpy", "xla"])
@pytest.mark.parametrize("name", OF_DATA)
def test_compiled_on(device, name):
    mat = bcoo(OURS, M)
    wanted = OF_DATA[name](OURS, mat, mat.data)
    with plugjax.default_device(device):
        mat = bcoo(OURS, M)
        found = plugjax.jit(lambda d: OF_DATA[name](OURS, mat, d))(mat.data)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("name", ["todense", "matmat", "duplicates"])
def test_compiled_on_iree(name):
    mat = bcoo(OURS, M)

    def f(d):
        return OF_DATA[name](OURS, mat, d)

    wanted = f(mat.data), plugjax.grad(lambda d: (f(d) ** 2).sum())(mat.data)
    with plugjax.default_device("iree"):
        mat = bcoo(OURS, M)
        found = plugjax.jit(lambda d: (f(d), plugjax.grad(lambda d: (f(d) ** 2).sum())(d)))(
            mat.data
        )
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)


def test_programs_show_operations():
    mat = bcoo(OURS, M)
    text = str(plugjax.make_jaxpr(lambda x: x @ V)(mat))
    assert "bcoo_dot_general" in text
    assert "scatter" not in text


def test_nse_must_be_known():
    refused = {
        "fromdense": lambda m: m.jax.jit(m.sparse.BCOO.fromdense)(m.np.asarray(D)),
        "duplicates": lambda m: m.jax.jit(lambda x: x.sum_duplicates())(bcoo(m, M)),
        "bcsr": lambda m: m.jax.jit(m.sparse.BCSR.fromdense)(m.np.asarray(D)),
        "coo": lambda m: m.jax.jit(m.sparse.COO.fromdense)(m.np.asarray(D)),
    }
    for call in refused.values():
        assert_same(call)


def test_arrays_are_trees():
    mat = bcoo(OURS, M, indices_sorted=True)
    leaves, tree = plugjax.tree.flatten(mat)
    assert len(leaves) == 2
    assert plugjax.tree.unflatten(tree, leaves).indices_sorted
    doubled = plugjax.tree.map(lambda x: x, mat)
    assert doubled.shape == mat.shape
    assert repr(plugjax.tree.map(lambda x: None, mat)) == "BCOO(<invalid>)"


def test_traced_arrays_say_so():
    seen = []
    plugjax.jit(lambda x: seen.append(repr(x)) or x.data)(bcoo(OURS, M))
    assert "BCOO(float32[3, 4], nse=5)" in seen[0]
    assert seen[0].endswith("]")
    assert isinstance(sparse.eye(2), sparse.JAXSparse)
