"""Slices with unsigned starts: a large start is beyond the end, and not negative."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax

X = np.arange(10, dtype=np.float32).reshape(2, 5)
BEYOND = [np.uint32(2**32 - 1), np.uint32(2**31), np.uint16(2**16 - 1), np.uint8(200)]


@pytest.mark.spread(2)
@pytest.mark.parametrize("start", BEYOND, ids=str)
def test_slices_end_with_the_array(backend, start):
    def slices(x, place):
        # As a constant of the program, and as an argument.
        for i in (jnp.asarray(start), place):
            yield lax.dynamic_slice(x, (0, i), (1, 2))
            yield lax.dynamic_index_in_dim(x, i, 1, keepdims=False)
            yield lax.dynamic_update_slice(x, x[:1, :2] * 0 - 1, (i, i))

    with plugjax.default_device(backend):
        found = plugjax.jit(lambda x, i: list(slices(x, i)))(X, start)
    updated = X.copy()
    updated[1, 3:] = -1
    for a, b in zip(found, [X[:1, 3:], X[:, 4], updated] * 2, strict=True):
        np.testing.assert_array_equal(a, b)
