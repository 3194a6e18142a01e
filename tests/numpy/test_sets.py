"""Set operations against JAX: concrete, of a static size, and traced."""

import jax
import numpy as onp
import pytest

import plugjax
import plugjax.numpy as jnp

A = onp.array([3, -1, 2, 3, 7, 2], onp.int32)
B = onp.array([[2, 3], [9, 2]], onp.int32)
N = onp.array([1.0, onp.nan, 2.0, onp.nan], onp.float32)
R = onp.array([[1, 2], [0, 5], [1, 2]], onp.int32)


@pytest.mark.spread(16)
@pytest.mark.parametrize("name", ["intersect1d", "setxor1d", "setdiff1d", "union1d"])
@pytest.mark.parametrize("size", [None, 2, 9])
@pytest.mark.parametrize("fill", [None, -5])
@pytest.mark.parametrize(
    "pair", [(A, B), (A, A[:1]), (A, A), (A, onp.float32([7, 1.5]))], ids=range(4)
)
def test_pairs(agree, name, size, fill, pair):
    agree(lambda np: getattr(np, name)(*pair, size=size, fill_value=fill))
    if size is not None:
        ours = plugjax.jit(lambda x, y: getattr(jnp, name)(x, y, size=size, fill_value=fill))(*pair)
        expected = getattr(jax.numpy, name)(*pair, size=size, fill_value=fill)
        onp.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("size", [None, 2, 5])
def test_intersect1d_indices(agree, size):
    agree(lambda np: np.intersect1d(A, B, return_indices=True, size=size))


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse", "unique_values"])
@pytest.mark.parametrize("size", [None, 2, 6])
@pytest.mark.parametrize("x", [A, B, N], ids=["vector", "matrix", "nan"])
def test_array_api(agree, name, x, size):
    agree(lambda np: getattr(np, name)(x, size=size))
    if size is not None:
        ours = plugjax.jit(lambda x: getattr(jnp, name)(x, size=size))(x)
        theirs = getattr(jax.numpy, name)(x, size=size)
        for a, b in zip(jax.tree.leaves(theirs), plugjax.tree.leaves(ours), strict=True):
            onp.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_traced_unique_along_an_axis(axis):
    options = {
        "axis": axis,
        "size": 3,
        "return_index": True,
        "return_counts": True,
        "fill_value": 9,
    }
    ours = plugjax.jit(lambda x: jnp.unique(x, **options))(R)
    theirs = jax.numpy.unique(R, **options)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
    onp.testing.assert_array_equal(ours[0], theirs[0])
    onp.testing.assert_array_equal(ours[2], theirs[2])


@pytest.mark.parametrize("name", ["intersect1d", "setxor1d", "setdiff1d", "union1d"])
def test_traced_sets_need_a_size(name):
    with pytest.raises(plugjax.errors.ConcretizationTypeError):
        plugjax.jit(getattr(jnp, name))(A, B)
