"""Powers whose result has as many digits as IREE computes with: float64 on processors, float32 on Vulkan devices."""

import numpy as np
import pytest

import plugjax
from plugjax import lax

SPECIAL = [0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 1e30, -1e30, np.inf, -np.inf, np.nan]


@pytest.fixture(params=["iree", "vulkan"])
def dtype(request):
    """The dtype, on its device."""
    if request.param == "vulkan":
        request.getfixturevalue("vulkan")
        yield np.dtype(np.float32)
    else:
        with plugjax.enable_x64(True), plugjax.default_device("iree"):
            yield np.dtype(np.float64)


def operands(dtype):
    """Bases and exponents: of every size, near 1, and such that the powers are of every size."""
    draw, count = np.random.default_rng(0), 20_000
    largest = float(np.log(np.finfo(dtype).max)) - 2
    x = np.exp(draw.uniform(-largest, largest, count))
    near = 1 + draw.choice([-1, 1], count) * np.exp(draw.uniform(np.log(2e-7), -1, count))
    near = near.astype(dtype).astype(np.float64)
    bases = np.concatenate([x, x, near]).astype(dtype)
    exponents = np.concatenate(
        [
            draw.uniform(-1, 1, count),
            draw.uniform(-largest, largest, count) / np.log(x),
            draw.uniform(-largest, largest, count) / np.log(near),
        ]
    )
    return bases, exponents.astype(dtype)


def errors(found, x, y):
    """In units in the last place."""
    exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    return np.abs(np.asarray(found) - exact) / np.spacing(exact.astype(found.dtype))


def test_powers_have_all_their_digits(dtype):
    x, y = operands(dtype)
    assert errors(plugjax.jit(lax.pow)(x, y), x, y).max() < 2


def test_powers_of_2_have_all_their_digits(dtype):
    largest = np.finfo(dtype).maxexp - 2
    y = np.random.default_rng(0).uniform(-largest, largest, 20_000).astype(dtype)
    assert errors(plugjax.jit(lax.exp2)(y), np.full_like(y, 2), y).max() < 2


def test_powers_of_special_values(dtype):
    x, y = map(np.ravel, np.meshgrid(*[np.array(SPECIAL, dtype)] * 2))
    with np.errstate(all="ignore"):
        expected, of_2 = np.power(x, y), np.exp2(np.array(SPECIAL, dtype))
    found = np.asarray(plugjax.jit(lax.pow)(x, y))
    np.testing.assert_allclose(found, expected, rtol=2 * float(np.finfo(dtype).eps))
    signed = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(expected)[signed])
    found = plugjax.jit(lax.exp2)(np.array(SPECIAL, dtype))
    np.testing.assert_allclose(found, of_2, rtol=2 * float(np.finfo(dtype).eps))
