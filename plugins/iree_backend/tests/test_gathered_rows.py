"""Gathers of rows read vectors of elements."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree import workarounds

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(50, 32)).astype(np.float32)
CUBE = RNG.normal(size=(6, 7, 33)).astype(np.float32)
PLACES = RNG.integers(-50, 50, 40).astype(np.int32)


def in_mode(mode):
    return lambda x, i: x.at[i * 2].get(mode=mode)


def embedded(x, i):
    return jnp.tanh(x[i] * 2 + x[0])


def loss(x, i):
    return (embedded(x, i) ** 2).sum()


# Functions of a table and of places, and how many operands are read by their numbers.
CASES = [
    (lambda x, i: x[i], TABLE, PLACES, 1),
    (lambda x, i: x[i], TABLE, PLACES.reshape(4, 10), 1),
    (lambda x, i: x[i], TABLE, PLACES.astype(np.int8), 1),
    (lambda x, i: x[i], TABLE > 0, PLACES, 1),
    (lambda x, i: x[i, ::-1], TABLE, PLACES, None),
    (lambda x, i: x[:, :24][i], TABLE, PLACES, 1),
    (lambda x, i: x[1:49, 3:27][i % 48], TABLE, PLACES, 1),
    (lambda x, i: x[:, ::2][i], TABLE, PLACES, None),
    (in_mode("clip"), TABLE, PLACES, 1),
    (in_mode("fill"), TABLE, PLACES, None),
    (lambda x, i: x[i % 6], CUBE, PLACES, None),
    (lambda x, i: x[i % 6, i % 7], CUBE, PLACES, None),
    (lambda x, i: x[:, i % 7], CUBE, PLACES, None),
    (lambda x, i: jnp.take(x, i, 1, mode="wrap"), TABLE, PLACES, None),
    (lambda x, i: jnp.take_along_axis(x, i[:, None] % 50, 0), TABLE, PLACES, None),
    (lambda x, i: x[i] + x[i + 1], TABLE, PLACES, None),
    (lambda x, i: x.at[:, :, 1].get(mode="clip") + i[0], CUBE, PLACES, 0),
    (lambda x, i: x.at[3].get(mode="clip") * 2, TABLE, PLACES, 0),
    (embedded, TABLE, PLACES, 1),
    (plugjax.vmap(lambda x, i: x[i], (None, 0)), TABLE, PLACES.reshape(4, 10), None),
    (plugjax.vmap(lambda x, i: x[i]), CUBE, PLACES[:12].reshape(6, 2) % 7, None),
    (plugjax.grad(loss), TABLE, PLACES, None),
    (lambda x, i: lax.scan(lambda c, j: (c + x[j], x[j]), x[0], i), TABLE, PLACES, None),
]


@pytest.mark.parametrize(("function", "table", "places", "count"), CASES)
def test_values_are_those_of_numpy(function, table, places, count, agrees, changes):
    agrees(function, table, places, rtol=1e-5, atol=1e-5)
    if count is not None:
        assert changes["gathered_rows"] == count


def test_columns_are_read_as_before(agrees, changes):
    agrees(lambda x, i: x[3, i], TABLE, PLACES % 32, rtol=0, atol=0)
    assert changes["gathered_rows"] == 0


@pytest.mark.parametrize("reduction", [jnp.any, jnp.sum, jnp.max])
def test_numbers_of_elements_and_reductions(reduction, agrees):
    """What is computed of the reduction in a branch is fused into its kernel, with the search before the branch."""

    def program(x, y, first):
        place = jnp.searchsorted(x, jnp.float32(4), method="scan_unrolled")
        return lax.cond(first, lambda: place, lambda: place + reduction(y).astype(place.dtype))

    x, y = np.arange(9, dtype=np.float32), np.array([3, 1, 2], np.float32)
    with workarounds.without(("one_by_one",)), plugjax.config.override("fallback", "error"):
        for first in (True, False):
            agrees(program, x, y, first, rtol=0, atol=0)


def test_steps_that_read_elements_and_reduce(agrees, changes):
    def program(x, y, places):
        def step(total, place):
            half = x.at[place].get(mode="clip") * 0.5
            return total + half + jnp.tanh((y + total).sum()), half + jnp.tanh((y * 2).sum())

        return lax.scan(step, 0.0, places)

    y = RNG.normal(size=18).astype(np.float32)
    with workarounds.without(("one_by_one",)), plugjax.config.override("fallback", "error"):
        agrees(program, TABLE[0], y, PLACES, rtol=1e-5, atol=1e-5)
    assert changes["gathered_scalars"]
