"""Scatters of rows are loops over rows."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax

PLACES = np.array([3, 0, 3, -1, 40, 7, -12, 3])


def arrays(width, dtype="float32"):
    rng = np.random.default_rng(0)
    x, rows = rng.normal(size=(10, width)) * 5, rng.normal(size=(len(PLACES), width)) * 5
    return x.astype(dtype), PLACES, rows.astype(dtype)


@pytest.mark.parametrize("method", ["add", "multiply", "max", "min", "set", "subtract"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_values_are_those_of_numpy(method, dtype, agrees, changes):
    places = np.unique(PLACES) if method == "set" else PLACES

    def update(x, i, rows):
        return getattr(x.at[i], method)(rows[: len(places)])

    x, _, rows = arrays(8, dtype)
    agrees(update, x, places, rows, rtol=1e-5, atol=1e-5)
    assert changes["row_updates"] == 1


@pytest.mark.parametrize(("width", "count"), [(2, 0), (4, 1), (12, 0), (64, 1), (128, 0)])
def test_widths(width, count, agrees, changes):
    agrees(lambda x, i, rows: x.at[i].add(rows), *arrays(width), rtol=1e-5, atol=1e-5)
    assert changes["row_updates"] == count


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_64_bits(dtype, agrees, changes):
    with plugjax.enable_x64(True):
        agrees(lambda x, i, rows: x.at[i].add(rows), *arrays(16, dtype), rtol=1e-13, atol=1e-13)
    assert changes["row_updates"] == 1


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "complex64"])
def test_other_types_stay_as_they_are(dtype, agrees, changes):
    agrees(lambda x, i, rows: x.at[i].max(rows) if dtype == "bool" else x.at[i].add(rows), *arrays(8, dtype), rtol=1e-2, atol=1e-2)  # fmt: skip
    assert changes["row_updates"] == 0


@pytest.mark.parametrize("rows", [100, 120])
def test_what_is_computed_in_the_kernel_stays_there(rows, agrees, changes):
    rng = np.random.default_rng(0)
    x, values = (rng.normal(size=(n, 16)).astype("float32") for n in (50, rows))
    places = rng.integers(0, 50, rows)
    agrees(
        lambda x, i, v: (x.at[i].add(v * 2), jnp.zeros_like(x).at[i].add(v), (x * 2).at[i].add(v)),
        *(x, places, values),
        rtol=1e-5,
        atol=1e-5,
    )
    assert changes["row_updates"] == 1


def gradient_of_a_table(x, i, rows):
    return plugjax.grad(lambda x: (jnp.tanh(x[i]) * rows).sum())(x)


def in_a_loop(x, i, rows):
    def step(x, row):
        x = x.at[i].add(row * 0.5)
        return x * 0.9, x.sum()

    return lax.scan(step, x, rows)


def with_the_old_array(x, i, rows):
    new = x.at[i].add(rows)
    return new, x * 2, new.at[i[::-1]].multiply(rows)


def of_columns(x, i, rows):
    return x.T.at[:, i].add(rows.T), x.at[i, 2].add(rows[:, 0])


@pytest.mark.parametrize(
    "function", [gradient_of_a_table, in_a_loop, with_the_old_array, of_columns]
)
def test_programs(function, agrees):
    agrees(function, *arrays(16), rtol=1e-5, atol=1e-5)


def test_many_rows_of_a_donated_array():
    rng = np.random.default_rng(0)
    x, i, rows = rng.normal(size=(1000, 32)), rng.integers(0, 1000, 3000), rng.normal(size=(3000, 32))  # fmt: skip
    expected = x.copy()
    np.add.at(expected, i, rows)
    with plugjax.default_device("iree"):
        donated = jnp.asarray(x, "float32")
        update = plugjax.jit(lambda x, i, rows: x.at[i].add(rows), donate_argnums=0)
        found = update(donated, i, rows.astype("float32"))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert donated.is_deleted()
