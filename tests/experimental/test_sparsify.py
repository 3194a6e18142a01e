"""``sparsify`` and operators with JAX as oracle."""

import operator

import numpy as np
import pytest

import plugjax
from plugjax.experimental import sparse
from plugjax.experimental.sparse.transform import (
    SparsifyEnv,
    arrays_to_spvalues,
    sparse_rules_bcoo,
    spvalues_to_arrays,
)
from tests.experimental.sparse_oracle import assert_same, bcoo, buffers, values

M = buffers((3, 4), 0, 0, 5, seed=3)
N = buffers((3, 4), 0, 0, 4, seed=4)
BATCHED = buffers((2, 3, 4), 1, 0, 4, seed=5)
DENSE_AXIS = buffers((3, 4, 2), 0, 1, 4, seed=6)
ROW = buffers((1, 4), 0, 0, 2, seed=7)
V = values(np.random.default_rng(0), (4,), "float32")
W = values(np.random.default_rng(1), (3, 4), "float32")


def unary(name):
    return lambda m: m.sparse.sparsify(getattr(m.np, name))(bcoo(m, M))


def of_lax(name):
    return lambda m: m.sparse.sparsify(getattr(m.lax, name))(bcoo(m, M))


@pytest.mark.parametrize(
    "name",
    [
        "abs",
        "sin",
        "tan",
        "tanh",
        "sinh",
        "arcsinh",
        "arctan",
        "arcsin",
        "sqrt",
        "square",
        "negative",
        "sign",
        "expm1",
        "log1p",
        "real",
        "imag",
        "conj",
        "positive",
    ],
)
def test_functions_that_map_zero_to_zero(name):
    if name in ("sqrt", "arcsin", "log1p"):
        small = {**M, "data": np.abs(M["data"]) / 8}
        assert_same(lambda m: m.sparse.sparsify(getattr(m.np, name))(bcoo(m, small)))
    else:
        assert_same(unary(name))


@pytest.mark.parametrize("name", ["cos", "exp", "cosh", "arccos", "log", "logical_not"])
def test_functions_with_dense_results_are_refused(name):
    assert_same(unary(name))


def test_errors_say_how_to_make_arrays_dense():
    with pytest.raises(NotImplementedError, match=r"would result in dense output.*todense"):
        sparse.sparsify(plugjax.numpy.cos)(sparse.eye(3))
    with pytest.raises(NotImplementedError, match="sparse rule for digamma is not implemented"):
        sparse.sparsify(plugjax.lax.digamma)(sparse.eye(3))


OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.matmul,
    operator.pow,
    operator.lt,
    operator.eq,
]


@pytest.mark.spread(8)
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@pytest.mark.parametrize(
    "other", ["sparse", "dense", "row", "scalar", "transposed", "sparse row", "batched"]
)
def test_operators(op, other):
    others = {
        "sparse": lambda m: bcoo(m, N),
        "dense": lambda m: m.np.asarray(W),
        "row": lambda m: m.np.asarray(V),
        "scalar": lambda m: 2.0,
        "transposed": lambda m: bcoo(m, N).T,
        "sparse row": lambda m: bcoo(m, ROW),
        "batched": lambda m: bcoo(m, BATCHED),
    }
    assert_same(lambda m: op(bcoo(m, M), others[other](m)))
    if other in ("dense", "row", "scalar"):
        assert_same(lambda m: op(others[other](m), bcoo(m, M)))


def test_unary_operators():
    assert_same(
        lambda m: [-bcoo(m, M), +bcoo(m, M), abs(bcoo(m, M)), bcoo(m, M) ** 2, bcoo(m, M).T]
    )
    assert_same(lambda m: bcoo(m, M) ** -1)
    assert_same(lambda m: bcoo(m, M) ** 0.5)


INDICES = [
    0, -1, 5, slice(1, 3), slice(None, None, -1), slice(0, 0), (1, 2), (slice(None), 1), (..., 0), None, (0, None),
    np.array([0, 2]), np.array([[1, 0]]), (slice(None), np.array([3, 1])), True, 1.5,
]  # fmt: skip


@pytest.mark.spread(16)
@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("found", [M, BATCHED, DENSE_AXIS], ids=["matrix", "batched", "dense axis"])
def test_indexing(found, index):
    assert_same(lambda m: bcoo(m, found)[index])


def test_methods():
    assert_same(
        lambda m: [
            bcoo(m, M).sum(),
            bcoo(m, M).sum(0),
            bcoo(m, BATCHED).sum((0, 1)),
            bcoo(m, DENSE_AXIS).sum(-1),
        ]
    )
    assert_same(
        lambda m: [bcoo(m, M).reshape(12), bcoo(m, M).reshape((2, 6)), bcoo(m, M).reshape(4, 3)]
    )
    assert_same(
        lambda m: [bcoo(m, M).astype("int32"), len(bcoo(m, M)), bcoo(m, M).size, bcoo(m, M).ndim]
    )
    assert_same(lambda m: list(bcoo(m, M)))
    assert_same(lambda m: bcoo(m, BATCHED).reshape(6, 4))


STRUCTURE = {
    "concatenate": lambda m, x, y: m.np.concatenate([x, y], 0),
    "concatenate columns": lambda m, x, y: m.np.concatenate([x, y], 1),
    "stack": lambda m, x, y: m.np.stack([x, y]),
    "transpose": lambda m, x, y: m.np.transpose(x),
    "transposed sum": lambda m, x, y: x.T + y.T,
    "broadcast": lambda m, x, y: m.np.broadcast_to(x, (2, 3, 4)),
    "expand": lambda m, x, y: m.np.expand_dims(x, 1),
    "squeeze": lambda m, x, y: m.np.squeeze(m.np.expand_dims(x, 0), 0),
    "flip": lambda m, x, y: m.np.flip(x, 1),
    "slice": lambda m, x, y: m.lax.slice(x, (0, 1), (2, 4)),
    "dynamic slice": lambda m, x, y: m.lax.dynamic_slice(x, (1, 2), (2, 2)),
    "sum": lambda m, x, y: m.np.sum(x * y, axis=1),
    "total": lambda m, x, y: m.np.sum(x + y),
    "shared indices": lambda m, x, y: x + m.np.sin(x) * x,
    "where": lambda m, x, y: m.np.where(True, x, y),
    "todense": lambda m, x, y: m.np.cos(m.sparse.todense(x)),
    "max": lambda m, x, y: m.np.maximum(x, y),
    "jit": lambda m, x, y: m.jax.jit(lambda a, b: (a * 2, a @ b.T))(x, y),
    "cond": lambda m, x, y: m.lax.cond(m.np.sum(x) > 0, lambda a: a * 2, lambda a: -a, x),
    "cond of layouts": lambda m, x, y: m.lax.cond(
        m.np.sum(x) > 0, lambda a: a + a, lambda a: -a, x
    ),
    "while": lambda m, x, y: m.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x)
    ),
    "fori": lambda m, x, y: m.lax.fori_loop(0, 3, lambda i, c: c * i, x),
    "growing loop": lambda m, x, y: m.lax.fori_loop(0, 3, lambda i, c: c + y, x),
    "constant of a loop": lambda m, x, y: m.lax.fori_loop(
        0, 3, lambda i, c: c + x @ m.np.ones(4), m.np.zeros(3)
    ),
    "scan": lambda m, x, y: m.lax.scan(lambda c, _: (c * 2, None), x, None, length=3)[0],
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", STRUCTURE)
def test_programs(name):
    assert_same(
        lambda m: m.sparse.sparsify(lambda x, y: STRUCTURE[name](m, x, y))(bcoo(m, M), bcoo(m, N))
    )


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    "name", ["jit", "while", "cond", "sum", "shared indices", "constant of a loop"]
)
@pytest.mark.parametrize("device", ["xla", "numpy"])
def test_programs_under_jit(name, device):
    def call(m):
        f = m.sparse.sparsify(lambda x, y: STRUCTURE[name](m, x, y))
        return m.jax.jit(f)(bcoo(m, M), bcoo(m, N))

    with plugjax.default_device(device):
        assert_same(call)


def test_programs_on_iree():
    with plugjax.default_device("iree"):
        f = plugjax.jit(sparse.sparsify(lambda x, y: (x.T + y.T * 2) @ plugjax.numpy.ones(3)))
        x, y = bcoo_of(M), bcoo_of(N)
        wanted = (x.todense().T + y.todense().T * 2) @ np.ones(3, "float32")
        np.testing.assert_allclose(f(x, y), wanted, rtol=1e-5)


def bcoo_of(found):
    return sparse.BCOO((found["data"], found["indices"]), shape=found["shape"])


def test_bcsr():
    dense = np.array([[0, 2, 0, 0], [1, 0, 0, 3], [0, 0, 0, 0]], np.float32)

    def of(f):
        return lambda m: f(m, m.sparse.BCSR.fromdense(m.np.asarray(dense)))

    assert_same(of(lambda m, x: x @ m.np.asarray(V)))
    assert_same(of(lambda m, x: x @ m.np.asarray(W).T))
    assert_same(of(lambda m, x: m.np.asarray(W).T @ x))
    assert_same(of(lambda m, x: m.sparse.sparsify(m.np.sin)(x)))
    assert_same(of(lambda m, x: m.sparse.sparsify(m.np.cos)(x)))
    assert_same(of(lambda m, x: m.sparse.sparsify(lambda a: m.np.concatenate([a, a], 1))(x)))
    assert_same(of(lambda m, x: m.sparse.sparsify(lambda a: m.np.broadcast_to(a, (2, 3, 4)))(x)))
    assert_same(of(lambda m, x: m.sparse.sparsify(m.sparse.todense)(x)))
    assert_same(of(lambda m, x: x + x))
    assert_same(of(lambda m, x: x[0]))
    assert_same(of(lambda m, x: x.T))


def test_trees_and_keywords():
    def call(m):
        f = m.sparse.sparsify(lambda d, *, n: {"a": d["x"] * n, "b": d["v"]})
        return f({"x": bcoo(m, M), "v": m.np.asarray(V)}, n=3)

    assert_same(call)


def test_values_by_place():
    env = SparsifyEnv()
    mat = bcoo_of(M)
    value = arrays_to_spvalues(env, {"m": mat, "v": V})
    assert value["m"].is_bcoo()
    assert value["v"].is_dense()
    assert value["m"].ndim == 2
    back = spvalues_to_arrays(env, value)
    np.testing.assert_array_equal(back["m"].todense(), mat.todense())
    with pytest.raises(RuntimeError, match="no indices"):
        env.indices(value["v"])


def test_rules_of_a_program():
    twice_p = plugjax.extend.Primitive("twice")
    twice_p.def_impl(lambda x: x + x)
    twice_p.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="sparse rule for twice"):
        sparse.sparsify(twice_p.bind)(bcoo_of(M))
    sparse_rules_bcoo[twice_p] = lambda spenv, x: [
        spenv.sparse(x.shape, 2 * spenv.data(x), indices_ref=x.indices_ref)
    ]
    found = sparse.sparsify(twice_p.bind)(bcoo_of(M))
    np.testing.assert_array_equal(found.todense(), 2 * bcoo_of(M).todense())


def test_custom_derivatives_are_what_they_compute():
    @plugjax.custom_jvp
    def f(x):
        return plugjax.numpy.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    found = sparse.sparsify(f)(bcoo_of(M))
    np.testing.assert_allclose(found.todense(), np.sin(bcoo_of(M).todense()), rtol=1e-6)
