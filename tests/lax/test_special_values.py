"""Every elementwise function at zeros, infinities, nan, limits, halves and integers, in every float dtype on every
backend.

The references are NumPy and SciPy in float64, or JAX; they differ at poles of special functions. Compilers for
processors flush subnormal numbers to zero, as XLA does; then the value at zero is right as well.
"""

import jax
import ml_dtypes
import numpy as np
import pytest
import scipy.special

import plugjax
from plugjax import lax
from plugjax.core.dtypes import FLOAT64

COMPARES_BITS = True

DTYPES = ["float16", "bfloat16", "float32", "float64"]

UNARY = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "bessel_i0e": scipy.special.i0e, "bessel_i1e": scipy.special.i1e, "cbrt": np.cbrt, "ceil": np.ceil,
    "cos": np.cos, "cosh": np.cosh, "digamma": scipy.special.digamma, "erf": scipy.special.erf,
    "erf_inv": scipy.special.erfinv, "erfc": scipy.special.erfc, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "floor": np.floor, "is_finite": np.isfinite, "lgamma": scipy.special.gammaln, "log": np.log, "log1p": np.log1p,
    "logistic": scipy.special.expit, "neg": np.negative, "reciprocal": np.reciprocal,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), "rsqrt": lambda x: 1 / np.sqrt(x), "sign": np.sign,
    "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "square": np.square, "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip
BINARY = {
    "add": np.add, "atan2": np.arctan2, "div": np.divide, "eq": np.equal, "ge": np.greater_equal, "gt": np.greater,
    "le": np.less_equal, "lt": np.less, "max": np.maximum, "min": np.minimum, "mul": np.multiply, "ne": np.not_equal,
    "nextafter": np.nextafter, "pow": np.power, "rem": np.fmod, "sub": np.subtract,
}  # fmt: skip

# Units in the last place; 4 for other functions. On IREE a power of float64 numbers has the error
# of its exponent times a logarithm, because no wider dtype exists.
ULPS = dict.fromkeys(["sinh", "cosh"], 12)
ULPS |= dict.fromkeys(["lgamma", "digamma", "erf_inv", "erfc", "bessel_i0e", "bessel_i1e"], 64)


def special(dtype):
    """Zeros, infinities, nan, subnormal, smallest normal and largest numbers, halves and integers, of both signs."""
    info = ml_dtypes.finfo(dtype)
    positive = [0.0, np.inf, np.nan, 1.0, 2.0, 3.0, 4.0, 0.5, 1.5, 2.5, 7.0, 0.1, 20.0]
    limits = [info.smallest_subnormal, info.tiny / 2, info.tiny, info.max]
    numbers = np.array([*positive, *map(float, limits)], np.float64)
    return np.concatenate([numbers, -numbers]).astype(dtype)


def flushed(x):
    """Subnormal numbers as zeros with the same sign."""
    tiny = float(ml_dtypes.finfo(x.dtype).tiny)
    wide = x.astype(np.float64)
    small = np.abs(wide) < tiny
    return np.where(small, np.copysign(0.0, wide), wide).astype(x.dtype)


def agree(found, expected, ulps):
    """Elements that are equal up to a number of units in the last place; zeros have signs, except for subnormal
    results.
    """
    if expected.dtype == bool:
        return found == expected
    info = ml_dtypes.finfo(expected.dtype)
    a, b = found.astype(np.float64), expected.astype(np.float64)
    same = (a == b) & ((a != 0) | (np.signbit(a) == np.signbit(b)))
    with np.errstate(invalid="ignore"):
        close = np.abs(a - b) <= ulps * float(info.eps) * np.abs(b)
    small = (np.abs(a) < float(info.tiny) * 2) & (np.abs(b) < float(info.tiny) * 2)
    # Values that round up beyond the largest number are infinite.
    edge = np.minimum(np.abs(a), np.abs(b)) >= float(info.max) * (1 - ulps * float(info.eps))
    edge &= np.signbit(a) == np.signbit(b)
    return (
        same | close | (small & (np.sign(a) * np.sign(b) >= 0)) | (np.isnan(a) & np.isnan(b)) | edge
    )


def ulps(name, dtype, backend):
    if (name, dtype, backend) == ("pow", "float64", "iree"):
        return 1024
    return ULPS.get(name, 4)


def true_value(exact, args):
    """The float64 value, rounded once."""
    dtype = args[0].dtype
    with np.errstate(all="ignore"):
        if exact is np.nextafter:
            return exact(*args)
        found = np.asarray(exact(*(x.astype(np.float64) for x in args)))
        return found if found.dtype == bool else found.astype(dtype)


def pairs(x):
    a, b = np.meshgrid(x, x)
    return a.ravel(), b.ravel()


@pytest.mark.spread(8)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("names", "count"), [(UNARY, 1), (BINARY, 2)], ids=["unary", "binary"])
def test_special_values(names, count, dtype, backend):
    x = special(np.dtype(getattr(ml_dtypes, dtype, dtype)))
    operands = (x,) if count == 1 else pairs(x)
    wide = dtype == "float64"
    at_zero = tuple(map(flushed, operands))
    with plugjax.enable_x64(wide), jax.enable_x64(wide):
        assert (operands[0].dtype == FLOAT64) == wide
        with plugjax.default_device(backend):
            found = plugjax.jit(lambda *args: [getattr(lax, name)(*args) for name in names])(
                *operands
            )
        wrong = []
        for (name, exact), y in zip(names.items(), map(np.asarray, found), strict=True):
            good, reference = np.zeros(y.shape, bool), getattr(jax.lax, name)
            for args in (operands, at_zero):
                for expected in (true_value(exact, args), np.asarray(reference(*args))):
                    good |= agree(y, expected, ulps(name, dtype, backend))
            wrong += [
                (name, *(float(v[i]) for v in operands), y[i].item()) for i in np.flatnonzero(~good)
            ]
    assert not wrong, f"{len(wrong)}: {wrong[:40]}"


def test_angles_of_complex_numbers(backend):
    parts = np.array([0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, np.nan], np.float32)
    z = np.empty((7, 7), np.complex64)
    z.real, z.imag = np.meshgrid(parts, parts)
    with plugjax.default_device(backend):
        logarithm, angle = plugjax.jit(lambda z: (lax.log(z), plugjax.numpy.angle(z)))(z)
    expected = np.arctan2(z.imag, z.real)
    np.testing.assert_allclose(np.asarray(logarithm).imag, expected, rtol=1e-6)
    np.testing.assert_allclose(angle, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_quotients_and_reciprocals_of_complex_numbers(dtype, backend):
    large = float(np.finfo(dtype).max) / 512
    parts = [0.0, 1.5, -3.0, large / 2, -large, 1 / large, np.inf, -np.inf]
    z = np.array([complex(x, y) for x in parts for y in parts], dtype)
    with plugjax.enable_x64(dtype == "complex128"), jax.enable_x64(dtype == "complex128"):
        for function in (lambda z: z**-1, lambda z: 1 / z, lambda z: (2 - 1j) / z):
            expected = np.asarray(jax.jit(function)(z))
            with plugjax.default_device(backend):
                found = np.asarray(plugjax.jit(function)(z))
            for x, y in ((found.real, expected.real), (found.imag, expected.imag)):
                np.testing.assert_allclose(x[z != 0], y[z != 0], rtol=1e-6)
            assert not np.isfinite(found[z == 0]).any()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_functions_that_are_made_of_exponentials(dtype, backend):
    parts = [0.0, 0.5, -3.0, 80.0, -200.0, 1e5, -1e30]
    x = np.array([complex(a, b) for a in parts for b in parts[:5]], dtype)
    base = np.array([complex(a, b) for a in [1.5, -3.0, 1e30, 1e-30] for b in parts], dtype)
    with plugjax.enable_x64(dtype == "complex128"), jax.enable_x64(dtype == "complex128"):
        for name, args in (("logistic", (x,)), ("pow", (base, np.full_like(base, 0.3 - 0.2j)))):
            expected = np.asarray(jax.jit(getattr(jax.lax, name))(*args))
            with plugjax.default_device(backend):
                found = np.asarray(plugjax.jit(getattr(lax, name))(*args))
            np.testing.assert_allclose(found, expected, rtol=3e-5, err_msg=name)


ARCS = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh,
}  # fmt: skip


def test_inverse_functions_of_complex128(backend):
    parts = [0.0, 1e-12, -1e-5, 0.3, -1.0, 1 + 1e-9, -30.0, 1e20]
    z = np.array([complex(x, y) for x in parts for y in parts if abs(x + 1j * y) != 1])
    with plugjax.enable_x64(True), plugjax.default_device(backend):
        found = plugjax.jit(lambda z: [getattr(lax, name)(z) for name in ARCS])(z)
    for (name, exact), y in zip(ARCS.items(), map(np.asarray, found), strict=True):
        np.testing.assert_allclose(y.real, exact(z).real, rtol=1e-13, err_msg=name)
        np.testing.assert_allclose(y.imag, exact(z).imag, rtol=1e-13, err_msg=name)


NEAR_ZERO = {
    "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "erf": scipy.special.erf, "expm1": np.expm1,
    "log1p": np.log1p, "sin": np.sin, "sinh": np.sinh, "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_small_numbers(dtype, backend):
    powers = np.linspace(-300 if dtype == "float64" else -36, -0.01, 200)
    x = np.concatenate([10.0**powers, -(10.0**powers)]).astype(dtype)
    with plugjax.enable_x64(dtype == "float64"), plugjax.default_device(backend):
        found = plugjax.jit(lambda x: [getattr(lax, name)(x) for name in NEAR_ZERO])(x)
    for (name, exact), y in zip(NEAR_ZERO.items(), found, strict=True):
        expected = exact(x.astype(np.float64))
        np.testing.assert_allclose(y, expected, rtol=8 * np.finfo(dtype).eps, err_msg=name)


def test_acosh_near_its_zero(backend):
    x = 1 + 10.0 ** np.linspace(-15, 1, 100)
    with plugjax.enable_x64(True), plugjax.default_device(backend):
        found = plugjax.jit(lax.acosh)(x)
    np.testing.assert_allclose(found, np.arccosh(x), rtol=4e-15)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_digamma_near_its_poles(dtype, backend):
    apart = 10.0 ** np.linspace(-30, -9 if dtype == "float64" else -0.4, 60)
    x = np.concatenate([pole + side * apart for pole in (0, -1, -2, -7) for side in (1, -1)])
    x = x.astype(getattr(ml_dtypes, dtype, dtype))
    with plugjax.enable_x64(dtype == "float64"), plugjax.default_device(backend):
        y = np.asarray(plugjax.jit(lax.digamma)(x)).astype(np.float64)
    wide = x.astype(np.float64)
    pole = np.round(wide)
    is_pole = (pole <= 0) & (wide == pole)
    assert np.isnan(y[is_pole]).all()
    wide, pole, y = wide[~is_pole], pole[~is_pole], y[~is_pole]
    # Between the poles SciPy's values have all digits of float32.
    expected = scipy.special.digamma(wide)
    near = np.abs(wide - pole) < 1e-8
    expected[near] = -1 / (wide - pole)[near] + scipy.special.digamma(1 - pole[near])
    eps = float(ml_dtypes.finfo(x.dtype).eps)
    np.testing.assert_allclose(y, expected, rtol=8 * eps, atol=16 * eps)


def test_zeta_and_polygamma_of_negative_numbers(backend):
    orders, places = (2.0, 3.0, 5.0), (0.3, 4.0, -1e-3, -0.25, -1.5, -3.75, -2.0)
    s, q = (v.ravel().astype(np.float32) for v in np.meshgrid(orders, places))
    with plugjax.default_device(backend):
        zeta, polygamma = map(
            np.asarray, plugjax.jit(lambda s, q: (lax.zeta(s, q), lax.polygamma(s - 1, q)))(s, q)
        )
        trigamma = plugjax.jit(plugjax.vmap(plugjax.grad(lax.digamma)))(q)
    expected = scipy.special.zeta(s.astype(np.float64), q.astype(np.float64))
    at_pole = q == -2
    np.testing.assert_allclose(zeta[~at_pole], expected[~at_pole], rtol=1e-5)
    factor = (-1) ** s * scipy.special.factorial(s - 1)
    np.testing.assert_allclose(polygamma[~at_pole], (factor * expected)[~at_pole], rtol=1e-5)
    np.testing.assert_allclose(trigamma[s == 2], polygamma[s == 2], rtol=1e-5)
    assert not np.isfinite(zeta[at_pole]).any()


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_a_product_of_zeros_and_infinities_is_nan(dtype, backend):
    """For one term of a sum too, and whichever factor is a row or a column."""
    for rows, terms, columns in [(1, 1, 3), (3, 1, 1), (1, 2, 3), (3, 1, 2)]:
        x, y = np.zeros((rows, terms), dtype), np.full((terms, columns), np.inf, dtype)
        with plugjax.default_device(backend):
            found = plugjax.jit(lambda x, y: (x @ y, x[0] @ y, x @ y[:, 0], y.T @ x.T))(x, y)
            eager = (plugjax.numpy.matmul(x, y), plugjax.numpy.matmul(x[0], y))
        assert all(np.isnan(z).all() for z in (*found, *eager)), (rows, terms, columns)


@pytest.mark.parametrize("name", ["bessel_i1e", "sign"])
def test_zeros_keep_their_signs(name, backend):
    dtypes = ["float16", "float32", *(["complex64"] if name == "sign" else [])]
    for dtype in dtypes:
        x = np.array([0.0, -0.0], dtype)
        with plugjax.default_device(backend):
            for function in (getattr(lax, name), plugjax.jit(getattr(lax, name))):
                y = np.asarray(function(x))
                np.testing.assert_array_equal(np.signbit(y.real), [False, True], str(y))
