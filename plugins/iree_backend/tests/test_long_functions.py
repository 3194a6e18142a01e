"""Long functions are computed for two vectors at a time, and products and sums in one rounding by one operation."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree.compile import CompileTarget, compile_stablehlo

KEY = np.array([1, 2], np.uint32)


def normal(shape):
    return lambda key: plugjax.random.normal(plugjax.random.wrap_key_data(key), shape)


@pytest.mark.parametrize(
    ("shape", "count"), [((4096,), 1), ((40, 48), 1), ((16,), 1), ((33,), 0), ((5, 7, 3), 0)]
)
def test_values_are_those_of_numpy(shape, count, agrees, changes):
    agrees(normal(shape), KEY, rtol=1e-6, atol=1e-6)
    assert changes["long_functions"] == count
    assert changes["single_roundings"] > 20


def test_random_numbers_in_loops_and_batches(agrees):
    def program(key):
        keys = plugjax.random.split(plugjax.random.wrap_key_data(key), 4)
        drawn = plugjax.vmap(lambda k: plugjax.random.normal(k, (64,)))(keys)
        return drawn, lax.scan(lambda c, k: (c + plugjax.random.normal(k, (32,)), c), 0.0 * drawn[0, :32], keys)  # fmt: skip

    agrees(program, KEY, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("chunk", range(4))
def test_the_inverse_error_function_has_the_bits_of_xlas(chunk):
    x = np.linspace(-1, 1, 1 << 20, dtype="float32")[chunk::4]
    with plugjax.default_device("iree"):
        found = np.asarray(plugjax.jit(lax.erf_inv)(x))
    with plugjax.default_device("xla"):
        expected = np.asarray(plugjax.jit(lax.erf_inv)(x))
    np.testing.assert_array_equal(found, expected)


def rounded_once(x, y, z):
    """In float64, of float32 numbers."""
    wide = [v.astype("float64") for v in (x, y, z)]
    one = (wide[0] * wide[1] + wide[2]).astype("float32")
    other = (wide[2] + wide[0] * np.float64(0.5)).astype("float32")
    # These are not exact in float32.
    third = (wide[0] * np.float64(0.1) + wide[2]).astype("float32")
    return one, other, third, (wide[0] * wide[1] * wide[2] + wide[0]).astype("float32")


def test_sums_of_float64_that_are_narrowed(agrees, changes):
    rng = np.random.default_rng(0)
    x, y, z = (rng.normal(size=(64,)).astype("float32") for _ in range(3))
    x[:4], z[:4] = [np.inf, np.nan, -0.0, 1e-30], [-np.inf, 1, 0.0, 1e-34]
    with plugjax.enable_x64(True):
        agrees(rounded_once, x, y, z, rtol=1e-7, atol=0)
    assert changes["single_roundings"] == 2


@pytest.mark.parametrize(("arch", "there"), [("x86-64", False), ("znver3", True)])
def test_a_processor_without_the_operation_does_not_use_it(arch, there):
    with plugjax.default_device("iree"):
        text = plugjax.jit(lax.erf_inv).lower(jnp.zeros(64)).as_text()
    kernels = compile_stablehlo(text, CompileTarget("local", arch), phase="stream").decode()
    assert ("math.fma" in kernels) == there
