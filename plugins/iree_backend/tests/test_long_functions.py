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


# Of float64, and whether it is a product and a sum of float32 numbers.
WIDE = {
    "product first": (lambda x, y, z: x * y + z, 1),
    "product last": (lambda x, y, z: z + x * y, 1),
    "by a half": (lambda x, y, z: x * 0.5 + y, 1),
    "and an eighth": (lambda x, y, z: x * z + 0.125, 1),
    "by a number that is none": (lambda x, y, z: x * 0.1 + z, 0),
    "of a product": (lambda x, y, z: x * y * z + 1, 0),
    "without a product": (lambda x, y, z: x + y, 0),
}


@pytest.mark.parametrize("name", WIDE)
def test_sums_of_float64_that_are_narrowed(name, agrees, changes):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(64,)).astype("float32") for _ in range(3)]
    for array, special in zip(
        arrays, ([np.inf, np.nan, -0.0], [1, 1, 1], [-np.inf, 1, 0]), strict=True
    ):
        array[:3] = special
    function, count = WIDE[name]

    def narrowed(*arrays):
        return function(*(a.astype("float64") for a in arrays)).astype("float32")

    with plugjax.enable_x64(True):
        agrees(narrowed, *arrays, rtol=1e-7, atol=0)
    assert changes["single_roundings"] == count


@pytest.mark.parametrize(("arch", "there"), [("x86-64", False), ("znver3", True)])
def test_a_processor_without_the_operation_does_not_use_it(arch, there):
    with plugjax.default_device("iree"):
        text = plugjax.jit(lax.erf_inv).lower(jnp.zeros(64)).as_text()
    kernels = compile_stablehlo(text, CompileTarget("local", arch), phase="stream").decode()
    assert ("math.fma" in kernels) == there
