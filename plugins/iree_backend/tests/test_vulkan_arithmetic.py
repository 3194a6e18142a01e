"""Arithmetic and functions of numbers on a Vulkan device, whose driver reorders sums and folds products unless it is told not to."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax

X = np.array([np.inf, -np.inf, np.nan, 1, -2, 0, 1e-8, 3e20], np.float32)
Y = np.array([1, 2, 3, 1e-9, 1e9, 5, 1, 1e20], np.float32)
MATRIX = np.array([[np.inf, 1, 2, 3], [1, np.nan, 2, -0.0], [-np.inf, 1, 2, -1], [0, 0, -1, -2]], np.float32)  # fmt: skip
DTYPES = (np.float32, np.float16, jnp.bfloat16)


def equals(found, expected):
    """Equal numbers, nan where that is, and zeros of the same signs."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    np.testing.assert_allclose(found, expected, rtol=2e-7)
    signed = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(expected)[signed])


def error_of_sum(x, y):
    """What a sum of two numbers is rounded by (Knuth)."""
    s = x + y
    t = s - x
    return (x - (s - t)) + (y - t)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: (x + y) - x,
        lambda x, y: x - x,
        lambda x, y: x + (-x),
        lambda x, y: x * y - x * y,
        lambda x, y: (x + 12582912.0) - 12582912.0,
        lambda x, y: (x * 1e30) * 1e-30,
        lambda x, y: jnp.sqrt(x) * jnp.sqrt(x),
        lambda x, y: (x[:, None] * jnp.arange(3.0)).sum(1),
        error_of_sum,
    ],
    ids=["terms", "nothing", "negated", "products", "rounded", "factors", "roots", "sums of products", "compensated"],
)  # fmt: skip
def test_arithmetic_is_exact(vulkan, on_numpy, function):
    with np.errstate(all="ignore"):
        equals(plugjax.jit(function)(X, Y), on_numpy(function, X, Y))


ROW = np.arange(4, dtype=np.float32)
ZEROS = {
    "factor": (lambda x: x * 0, X),
    "negative factor": (lambda x: x * -0.0, X),
    "divisor": (lambda x: x / 0, X),
    "dividend": (lambda x: 0 / x, X),
    "term": (lambda x: x + 0.0, -np.abs(X)),
    "minuend": (lambda x: 0.0 - x, np.abs(X)),
    "product and sum": (lambda x: x * 0 + 1, X),
    "row": (lambda x: (x * ROW).sum(1), MATRIX),
    "product of matrices": (lambda x: x @ np.zeros((4, 4), np.float32), MATRIX),
    "counted": (lambda x: x * jnp.arange(1.0), X[:1]),
    "carried": (lambda x: lax.fori_loop(0, 3, lambda i, c: c * x + 1, jnp.zeros(8)), X),
    "product": (lambda x: jnp.prod(x, initial=0.0), X),
    "complex": (lambda x: jnp.real(lax.complex(x, x) * (0 + 0j)), X),
    "tangent": (lambda x: plugjax.jvp(jnp.sqrt, (x,), (jnp.zeros_like(x),))[1], X),
}


@pytest.mark.parametrize("name", ZEROS)
def test_products_by_zero(vulkan, on_numpy, name):
    function, x = ZEROS[name]
    with np.errstate(all="ignore"):
        equals(plugjax.jit(function)(x), on_numpy(function, jnp.asarray(x)))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_products_of_narrow_numbers_by_zero(vulkan, on_numpy, dtype):
    x = X[:7].astype(dtype)
    with np.errstate(all="ignore"):
        expected = x * np.zeros(7, dtype)
    equals(plugjax.jit(lambda x: x * np.zeros((), dtype))(x), expected)


def test_products_of_wide_numbers_by_zero(vulkan):
    with plugjax.enable_x64(True), np.errstate(all="ignore"):
        x = X.astype(np.float64)
        found = plugjax.jit(lambda x: x * np.float64(0))(x)
        assert found.dtype == np.float64
        equals(found, x * 0)


LARGE = np.array([3, -40, 1e3, 1e5, -1e10, 1e19, 16367173 * 2.0**72, 3e38], np.float32)
SMALL = np.array([3e-8, -2e-5, 1e-3, -0.1, 0.4, 1e-30, 0.0], np.float32)


def test_functions_of_large_and_small_numbers(vulkan, on_numpy):
    def large(x):
        return jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.arcsinh(x), jnp.fmod(x, 3.0), jnp.fmod(x, x[::-1])  # fmt: skip

    def small(x):
        return jnp.log1p(x), jnp.expm1(x), jnp.arcsinh(x), jnp.arctanh(x), jnp.tanh(x)

    for function, x in ((large, LARGE), (small, SMALL)):
        for ours, expected in zip(plugjax.jit(function)(x), on_numpy(function, x), strict=True):
            np.testing.assert_allclose(np.asarray(ours), expected, rtol=5e-7)


def test_remainders_as_ieee_754_defines_them(vulkan):
    x = np.array([7, -7, 0, -0.0, np.inf, np.nan, 5, 5, 5, 1e10, 1e-30], np.float32)
    y = np.array([3, 3, 3, 3, 3, 3, 0, np.inf, np.nan, 3, 7e-37], np.float32)
    found = np.asarray(plugjax.jit(plugjax.lax.rem)(x, y))
    with np.errstate(invalid="ignore"):
        expected = np.fmod(x, y)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[:4]), np.signbit(expected[:4]))


INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("shape", [(3, 3), (3, 4, 4)], ids=["odd", "vectors"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: d.name)
def test_quotients_of_integers(vulkan, on_numpy, dtype, shape):
    info = np.iinfo(dtype)
    numbers = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2 + 1, 0, 1, 3, 7, 100]
    rng = np.random.default_rng(0)
    x, y = rng.choice(np.array(numbers, dtype), (2, *shape))
    x.flat[0], y.flat[0] = numbers[0], 7

    def program(x, y):
        return lax.div(x, y), lax.rem(x, y), lax.rem(x, dtype.type(7)), lax.clz(x)

    with plugjax.enable_x64(True):
        found, expected = plugjax.jit(program)(x, y), on_numpy(program, *map(jnp.asarray, (x, y)))
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == dtype
            np.testing.assert_array_equal(ours, theirs)


def test_poles(vulkan):
    x = np.array([-np.inf, -2, 0.5], np.float32)
    found = plugjax.jit(plugjax.scipy.special.digamma)(x)
    np.testing.assert_allclose(found, [np.nan, np.nan, -1.9635100], rtol=1e-6)


def test_functions_of_complex_numbers(vulkan, on_numpy):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4, 10)) + 1j * rng.normal(size=(4, 10))
    z = (z * np.array([1, 30, 1e19, 1e-25])[:, None]).astype(np.complex64)

    def function(z):
        z = jnp.asarray(z)
        return (
            *(f(z) for f in (jnp.abs, jnp.log, jnp.sqrt, jnp.tanh, jnp.arctan, jnp.log1p)),
            *(f(z[:2]) for f in (jnp.exp, jnp.sinh, jnp.cos, jnp.expm1)),
            z / z[::-1],
            jnp.log(z[0] / jnp.abs(z[0]) * 1.00001),
        )

    for ours, expected in zip(plugjax.jit(function)(z), on_numpy(function, z), strict=True):
        expected = np.asarray(expected)
        error = np.abs(np.asarray(ours) - expected)
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(np.isfinite(error), finite)
        np.testing.assert_array_less(error[finite], 1e-5 * np.abs(expected[finite]) + 1e-37)
