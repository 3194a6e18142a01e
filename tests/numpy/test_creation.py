"""Array creation against JAX."""

import jax
import numpy as onp
import pytest

import plugjax

_rng = onp.random.RandomState(0)
F = _rng.randn(3, 4).astype(onp.float32)
G = _rng.randn(3, 4).astype(onp.float32)
V = _rng.randn(4).astype(onp.float32)
T = _rng.randn(2, 3, 4).astype(onp.float32)

VALUES = [
    1, 1.5, True, 1j, [1, 2], [1.0, 2], [], [[1, 2], [3, 4]], [True, False], [onp.float32(1), 2], onp.arange(3), "text", ["text"],
    [[1], [2, 3]], 2**40, [2**40], onp.float64(3), range(3),
]  # fmt: skip
DTYPES = [None, "float32", "int32", "bool", "complex64", "bfloat16", "uint8", int, float, bool]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_array(agree, value):
    agree(lambda np: np.array(value))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(agree, dtype):
    agree(lambda np: np.zeros((2, 3), dtype))
    agree(lambda np: np.full((2,), 3, dtype))
    agree(lambda np: np.eye(3, 4, 1, dtype))
    agree(lambda np: np.asarray([1, 0, 2], dtype))
    agree(lambda np: np.asarray(F * 10).astype(dtype))


@pytest.mark.parametrize(
    "args", [(5,), (1, 5), (0, 10, 3), (5, 0, -1), (0.0, 1.0, 0.25), (3.5,), (5, 1)]
)
def test_arange(agree, args):
    agree(lambda np: np.arange(*args))


@pytest.mark.parametrize(
    "expression",
    [
        lambda np: np.linspace(0.0, 10.0, 7),
        lambda np: np.linspace(F[0], G[0], 5, axis=-1),
        lambda np: np.linspace(0, 1, 5, retstep=True),
        lambda np: np.linspace(0, 7, 5, dtype=int),
        lambda np: np.logspace(0.0, 2.0, 5),
        lambda np: np.geomspace(1.0, 100.0, 5),
        lambda np: np.meshgrid(V, V[:2]),
        lambda np: np.meshgrid(V, V[:2], indexing="ij", sparse=True),
        lambda np: np.indices((2, 3)),
        lambda np: np.tril(T, -1),
        lambda np: np.triu(T, 1),
        lambda np: np.tril_indices(3, 1),
        lambda np: np.diag(V, 1),
        lambda np: np.diag(F, -1),
        lambda np: np.zeros((-1,)),
        lambda np: np.full((2, 4), V),
        lambda np: np.float32(3),
    ],
)
def test_cases(agree, expression):
    agree(expression)


@pytest.mark.parametrize("k", [-2, 0, 1, 5])
def test_diagonals_with_traced_numbers(k):
    for make in (
        lambda m, k: m.numpy.eye(3, 4, k=k),
        lambda m, k: m.numpy.tri(3, 4, k=k),
    ):
        expected, found = (m.jit(lambda k, m=m: make(m, k))(k) for m in (jax, plugjax))  # noqa: B023
        assert found.dtype == expected.dtype
        onp.testing.assert_array_equal(found, expected)


def test_arrays_like_a_committed_one_are_committed():
    for library in (jax, plugjax):
        x = library.device_put(library.numpy.ones(2), library.devices()[0])
        jnp = library.numpy
        found = [
            jnp.full_like(x, 3),
            jnp.zeros_like(x),
            jnp.ones_like(x, dtype=int),
            jnp.empty_like(x, shape=(3,)),
            library.lax.full_like(x, 3),
            jnp.full_like(x, jnp.arange(2.0)),
            jnp.full_like(jnp.ones(2), 3),
        ]
        assert [y.committed for y in found] == [True] * 5 + [False] * 2
