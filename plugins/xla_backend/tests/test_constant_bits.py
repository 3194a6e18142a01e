"""Constant folding in XLA's compiler."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint16", "uint32"])
def test_leading_zeros_of_a_constant_are_those_of_an_argument(dtype):
    x = np.array([0, 1, 3, -1, -2, 100], np.int64).astype(dtype)
    bits = 8 * x.itemsize
    expected = [bits - int(v).bit_length() if v >= 0 else 0 for v in x]
    with plugjax.default_device("xla"):
        for found in (plugjax.jit(lambda: lax.clz(jnp.array(x)))(), plugjax.jit(lax.clz)(x)):
            assert found.dtype == x.dtype
            np.testing.assert_array_equal(found, expected)
