"""Inserting, deleting, partitioning, bits, histograms, index tricks, reading and writing against JAX."""

import io

import jax
import ml_dtypes
import numpy as onp
import pytest

import plugjax
import plugjax.numpy as jnp

_rng = onp.random.RandomState(0)
F = _rng.randn(3, 4).astype(onp.float32)
V = onp.array([3, 1, 2, 1, 0], onp.int32)
S = _rng.randn(20, 2).astype(onp.float32)
BITS = onp.array([[1, 0, 3, 0, 0, 1, 1, 0, 1], [0, 1, 1, 1, 0, 0, 0, 0, 0]], onp.int32)
BYTES = onp.array([[7, 130], [255, 1]], onp.uint8)


@pytest.mark.spread(8)
@pytest.mark.parametrize(
    "expression",
    [
        lambda np: np.delete(V, 1),
        lambda np: np.delete(V, -1),
        lambda np: np.delete(V, 9),
        lambda np: np.delete(F, 1, axis=1),
        lambda np: np.delete(F, slice(0, 3, 2), axis=0),
        lambda np: np.delete(V, onp.array([0, 0, -1])),
        lambda np: np.delete(V, onp.array([0, -1]), assume_unique_indices=True),
        lambda np: np.delete(V, V > 1),
        lambda np: np.delete(V, V[:2] > 1),
        lambda np: np.delete(V, onp.array([1.5])),
        lambda np: np.insert(V, 1, 9),
        lambda np: np.insert(V, onp.array([0, 0, -1]), onp.array([7, 8, 9])),
        lambda np: np.insert(V, onp.array([3, 1]), 5.7),
        lambda np: np.insert(F, 1, 9, axis=1),
        lambda np: np.insert(F, 1, onp.arange(3), axis=1),
        lambda np: np.insert(F, onp.array([1]), onp.arange(3)[:, None], axis=1),
        lambda np: np.insert(F, slice(0, 3, 2), 0, axis=0),
        lambda np: np.insert(V, 1.5, 9),
        lambda np: np.insert(V, onp.zeros((2, 2), int), 9),
        lambda np: np.trim_zeros(onp.array([0, 0, 1, 0, 2, 0])),
        lambda np: np.trim_zeros(onp.array([0, 0, 1, 0, 2, 0]), "f"),
        lambda np: np.trim_zeros(onp.zeros(3)),
        lambda np: np.trim_zeros(onp.diag([0, 1, 0])),
        lambda np: np.trim_zeros(onp.diag([0, 1, 0]), "b", axis=1),
        lambda np: np.place(V, V > 1, onp.array([7, 8]), inplace=False),
        lambda np: np.place(F, F > 0, 5, inplace=False),
        lambda np: np.place(V, V > 1, 3),
        lambda np: np.place(V, V[:2] > 1, 3, inplace=False),
        lambda np: np.argpartition(V, 2),
        lambda np: np.argpartition(F, 1, axis=0),
        lambda np: np.argpartition(V, 9),
        lambda np: np.partition(V, 2),
        lambda np: np.partition(F, -2, axis=0),
        lambda np: np.sort_complex(V),
        lambda np: np.sort_complex(onp.complex64([2, 1 - 1j, 1 + 1j])),
        lambda np: np.packbits(BITS),
        lambda np: np.packbits(BITS, 1, "little"),
        lambda np: np.packbits(BITS > 0, axis=0),
        lambda np: np.packbits(F),
        lambda np: np.packbits(BITS, bitorder="middle"),
        lambda np: np.unpackbits(BYTES),
        lambda np: np.unpackbits(BYTES, axis=0, bitorder="little"),
        lambda np: np.unpackbits(BYTES, axis=1, count=11),
        lambda np: np.unpackbits(BYTES, count=40),
        lambda np: np.unpackbits(BITS),
        lambda np: np.histogram2d(S[:, 0], S[:, 1], 4),
        lambda np: np.histogram2d(S[:, 0], S[:, 1], [3, 4], density=True),
        lambda np: np.histogram2d(S[:, 0], S[:, 1], onp.linspace(-2, 2, 5), weights=S[:, 0]),
        lambda np: np.histogramdd(S, 3, range=[None, (-1, 1)]),
        lambda np: np.histogramdd(S, [3, onp.float32([-1, 0, 2])], weights=onp.arange(20)),
        lambda np: np.histogramdd(S, [3], density=True),
        lambda np: np.histogramdd(S, 3, range=[None]),
        lambda np: np.histogramdd(S, 3, weights=onp.arange(3)),
        lambda np: np.cov(S.T, fweights=onp.arange(1, 21)),
        lambda np: np.cov(S.T, aweights=onp.arange(1.0, 21.0)),
        lambda np: np.cov(S.T, fweights=onp.arange(1, 21), aweights=onp.arange(1.0, 21.0), ddof=2),
        lambda np: np.cov(S.T, fweights=onp.arange(1, 21), bias=True),
        lambda np: np.cov(S.T, fweights=S[:, 0]),
        lambda np: np.cov(S.T, aweights=onp.arange(3.0)),
        lambda np: np.cov(S.T, dtype=onp.float16),
        lambda np: np.cov(S.T, dtype=onp.int32),
        lambda np: np.cov(S[:, 0], S[:, 1]),
        lambda np: np.diag_indices_from(onp.ones((3, 3))),
        lambda np: np.diag_indices_from(F),
        lambda np: np.tril_indices_from(F, 1),
        lambda np: np.triu_indices_from(F, -1),
        lambda np: np.triu_indices_from(V),
        lambda np: np.mask_indices(3, np.triu, 1),
        lambda np: np.mask_indices(3, np.tril, size=7),
        lambda np: np.mgrid[0:3],
        lambda np: np.mgrid[0:3, 0:1:3j],
        lambda np: np.ogrid[0:3, 0.0:1.0:0.5],
        lambda np: np.ogrid[0:1:2j],
        lambda np: np.r_[V, 0, 1:4, 5.5],
        lambda np: np.r_["0,2", V, V],
        lambda np: np.r_["1,2,0", V, V],
        lambda np: np.r_["r", V, 1],
        lambda np: np.r_["c", V, 1],
        lambda np: np.r_["x", V],
        lambda np: np.r_[V, "r"],
        lambda np: np.c_[V, V],
        lambda np: np.c_[F, F],
        lambda np: np.c_[0:3, 1:4],
        lambda np: np.s_[1:2, ::3],
        lambda np: np.index_exp[1:2],
        lambda np: np.fromstring("1,2,3", onp.float32, sep=","),
        lambda np: np.fromfile("x"),
        lambda np: np.fromiter([1], int),
        lambda np: np.iterable([1]),
        lambda np: np.array_str(V),
        lambda np: np.array_repr(V),
        lambda np: np.dtype(np.uint1).name,
        lambda np: np.dtype(np.float6_e3m2fn).name,
    ],
)
def test_cases(agree, expression):
    agree(expression)


def test_delete_and_insert_under_jit():
    gone = plugjax.jit(lambda x, i: jnp.delete(x, i, assume_unique_indices=True))(
        V, onp.array([3, -5])
    )
    onp.testing.assert_array_equal(gone, onp.delete(V, [3, 0]))
    more = plugjax.jit(lambda x, i: jnp.insert(x, i, 9))(V, onp.array([3, 0]))
    onp.testing.assert_array_equal(more, onp.insert(V, [3, 0], 9))
    with pytest.raises(plugjax.errors.ConcretizationTypeError):
        plugjax.jit(jnp.delete)(V, onp.array([3]))


def test_insert_gradient():
    ours = plugjax.grad(lambda x: (jnp.insert(x, 1, 2.0) ** 2).sum())(jnp.asarray(F[0]))
    theirs = jax.grad(lambda x: (jax.numpy.insert(x, 1, 2.0) ** 2).sum())(F[0])
    onp.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize("dtype", [onp.float32, ml_dtypes.bfloat16, onp.int8])
def test_save_and_load(dtype):
    file = io.BytesIO()
    jnp.save(file, jnp.asarray(F, dtype))
    file.seek(0)
    found = jnp.load(file)
    assert isinstance(found, jnp.ndarray)
    assert found.dtype == dtype
    onp.testing.assert_array_equal(found, F.astype(dtype))


def test_load_an_archive():
    file = io.BytesIO()
    jnp.savez(file, a=jnp.asarray(F), b=jnp.arange(3))
    file.seek(0)
    found = jnp.load(file)
    onp.testing.assert_array_equal(found["a"], F)


def test_printoptions():
    with jnp.printoptions(precision=2):
        assert jnp.get_printoptions()["precision"] == 2
        assert repr(jnp.array([1 / 3])) == "Array([0.33], dtype=float32)"
