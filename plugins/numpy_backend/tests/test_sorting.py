"""Sorts that take a short way against those that do not, and against JAX, bit for bit."""

import ml_dtypes
import numpy as np
import pytest

import plugjax
from plugjax import lax

jax = pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def on_numpy():
    with plugjax.default_device("numpy"):
        yield


def drawn(dtype, shape, seed=0):
    """Numbers of which many are equal; floats with both zeros, infinities and nan of both signs."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 7, shape)
    if np.issubdtype(dtype, np.floating) or dtype == ml_dtypes.bfloat16:
        values = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, 2.0])
        return values[x].astype(dtype)
    return (x % 2 if dtype == np.bool_ else x).astype(dtype)


SORTED = {
    "plain": lambda x: abs(x) + 1,
    "zeros of one sign": abs,
    "zeros of both signs": lambda x: x,
    "nan": lambda x: np.where(x == 2, np.nan, abs(x)).astype(x.dtype),
    "nan of both signs": lambda x: np.where(
        x == 2, np.nan, np.where(x == -1.5, -np.nan, abs(x))
    ).astype(x.dtype),
    "nothing": lambda x: x[:, :0],
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("name", SORTED)
def test_a_sorted_array_has_the_bits_of_the_stable_sort(name, dtype, axis):
    x = SORTED[name](drawn(dtype, (30, 40)))
    found = np.asarray(lax.sort(plugjax.numpy.asarray(x), dimension=axis))
    assert found.tobytes() == np.sort(x, axis, "stable").tobytes()


@pytest.mark.parametrize("k", [1, 3, 12, 13])
@pytest.mark.parametrize(
    "dtype",
    [np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.int8, np.uint8, np.uint32, np.bool_],
    ids=lambda dtype: np.dtype(dtype).name,
)
def test_the_largest_of_long_rows(dtype, k):
    # Up to 12 of 100 are chosen before they are sorted.
    x = drawn(dtype, (5, 100))
    if np.dtype(dtype).kind == "f":
        x[0, ::9] = np.nan
        x[1, ::7] = -np.nan
    values, places = lax.top_k(plugjax.numpy.asarray(x), k)
    expected, places_of_jax = jax.lax.top_k(x, k)
    np.testing.assert_array_equal(places, places_of_jax)
    assert np.asarray(values).tobytes() == np.asarray(expected).tobytes()
