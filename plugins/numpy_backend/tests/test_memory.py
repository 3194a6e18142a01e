"""Compiled programs overwrite their own memory, and never that of their arguments."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.core import registry
from plugjax.extend.rules import impl
from plugjax.testing import OPS, operands
from plugjax_numpy.kernels import fresh, ufunc

WINDOWED = [
    lambda x: lax.reduce_window(x, 0.0, lax.add, (1,), (1,), "VALID"),
    lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1,), (1,), "SAME"),
    lambda x: lax.reduce_window(x, jnp.inf, lax.min, (1,), (1,), ((0, 0),)),
]


@pytest.mark.parametrize("pool", WINDOWED)
@pytest.mark.parametrize("place", [np.asarray, jnp.asarray])
def test_windows_of_one_place_leave_the_argument_alone(pool, place):
    x = place(np.arange(3, dtype=np.float32))
    with plugjax.default_device("numpy"):
        doubled, given = plugjax.jit(lambda x: (pool(x) * 2, x))(x)
    np.testing.assert_array_equal(doubled, [0, 2, 4])
    np.testing.assert_array_equal(given, [0, 1, 2])
    np.testing.assert_array_equal(x, [0, 1, 2])


def test_kernels_marked_fresh_give_memory_of_their_own(monkeypatch):
    """Every kernel whose result may be overwritten, on the operands of every row of the op table."""
    kernels, seen = registry.active().table(impl), set()
    marked = {*registry.active().table(fresh), *registry.active().table(ufunc)}

    def instrumented(primitive, kernel):
        def run(*args, **params):
            out = kernel(*args, **params)
            seen.add(primitive)
            assert not any(np.shares_memory(out, x) for x in args), primitive
            return out

        return run

    for primitive in marked:
        monkeypatch.setitem(kernels, primitive, instrumented(primitive, kernels[primitive]))
    with plugjax.default_device("numpy"), plugjax.disable_jit():
        for op in OPS:
            op.function(*map(jnp.asarray, operands(op)))
    assert len(seen) > 30, seen
