"""Functions of complex numbers at zeros, infinities and nan, where the array API standard defines them.

The table holds the upper half plane; below it, functions of conjugates are conjugates. The compilers' own values, which
JAX gives too, differ from the standard's in some places.
"""

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp

COMPARES_BITS = True

inf, nan, pi = np.inf, np.nan, np.pi
C, S = np.cos(2.5), np.sin(2.5)

# Function: (real, imaginary) of the operand, and of the result.
TABLE = {
    "exp": [
        (0.0, 0.0, 1, 0), (-0.0, 0.0, 1, 0), (2.0, inf, nan, nan), (2.0, nan, nan, nan), (inf, 0.0, inf, 0),
        (-inf, 2.5, 0 * C, 0 * S), (inf, 2.5, inf * C, inf * S), (-inf, inf, 0, 0), (inf, inf, inf, nan), (-inf, nan, 0, 0),
        (inf, nan, inf, nan), (nan, 0.0, nan, 0), (nan, 2.0, nan, nan), (nan, nan, nan, nan),
    ],
    "expm1": [
        (0.0, 0.0, 0, 0), (2.0, inf, nan, nan), (2.0, nan, nan, nan), (inf, 0.0, inf, 0), (-inf, 2.5, -1, 0 * S),
        (inf, 2.5, inf * C, inf * S), (-inf, inf, -1, 0), (inf, inf, inf, nan), (-inf, nan, -1, 0), (inf, nan, inf, nan),
        (nan, 0.0, nan, 0), (nan, 2.0, nan, nan), (nan, nan, nan, nan),
    ],
    "sinh": [
        (0.0, 0.0, 0, 0), (0.0, inf, 0, nan), (0.0, nan, 0, nan), (2.0, inf, nan, nan), (2.0, nan, nan, nan), (inf, 0.0, inf, 0),
        (inf, 2.5, inf * C, inf * S), (inf, inf, inf, nan), (inf, nan, inf, nan), (nan, 0.0, nan, 0), (nan, 2.0, nan, nan),
        (nan, nan, nan, nan),
    ],
    "cosh": [
        (0.0, 0.0, 1, 0), (0.0, inf, nan, 0), (0.0, nan, nan, 0), (2.0, inf, nan, nan), (2.0, nan, nan, nan), (inf, 0.0, inf, 0),
        (inf, 2.5, inf * C, inf * S), (inf, inf, inf, nan), (inf, nan, inf, nan), (nan, 0.0, nan, 0), (nan, 2.0, nan, nan),
        (nan, nan, nan, nan),
    ],
    "tanh": [
        (0.0, 0.0, 0, 0), (0.0, inf, 0, nan), (2.0, inf, nan, nan), (100.0, inf, nan, nan), (0.0, nan, 0, nan), (2.0, nan, nan, nan),
        (inf, 0.5, 1, 0), (inf, inf, 1, 0), (inf, nan, 1, 0), (nan, 0.0, nan, 0), (nan, 2.0, nan, nan), (nan, nan, nan, nan),
    ],
    "sqrt": [
        (0.0, 0.0, 0, 0), (-0.0, 0.0, 0, 0), (2.0, inf, inf, inf), (nan, inf, inf, inf), (-inf, inf, inf, inf), (2.0, nan, nan, nan),
        (-inf, 2.0, 0, inf), (inf, 2.0, inf, 0), (-inf, nan, nan, inf), (inf, nan, inf, nan), (nan, 2.0, nan, nan),
        (nan, nan, nan, nan),
    ],
    "log": [
        (-0.0, 0.0, -inf, pi), (0.0, 0.0, -inf, 0), (2.0, inf, inf, pi / 2), (2.0, nan, nan, nan), (-inf, 2.0, inf, pi),
        (inf, 2.0, inf, 0), (-inf, inf, inf, 3 * pi / 4), (inf, inf, inf, pi / 4), (-inf, nan, inf, nan), (inf, nan, inf, nan),
        (nan, 2.0, nan, nan), (nan, inf, inf, nan), (nan, nan, nan, nan),
    ],
    "log1p": [
        (-1.0, 0.0, -inf, 0), (0.0, 0.0, 0, 0), (2.0, inf, inf, pi / 2), (2.0, nan, nan, nan), (-inf, 2.0, inf, pi),
        (inf, 2.0, inf, 0), (-inf, inf, inf, 3 * pi / 4), (inf, inf, inf, pi / 4), (inf, nan, inf, nan), (nan, 2.0, nan, nan),
        (nan, inf, inf, nan), (nan, nan, nan, nan),
    ],
    "acos": [
        (0.0, 0.0, pi / 2, -0.0), (0.0, nan, pi / 2, nan), (2.0, inf, pi / 2, -inf), (2.0, nan, nan, nan), (-inf, 2.0, pi, -inf),
        (inf, 2.0, 0, -inf), (-inf, inf, 3 * pi / 4, -inf), (inf, inf, pi / 4, -inf), (inf, nan, nan, inf), (nan, 2.0, nan, nan),
        (nan, inf, nan, -inf), (nan, nan, nan, nan),
    ],
    "acosh": [
        (0.0, 0.0, 0, pi / 2), (2.0, inf, inf, pi / 2), (2.0, nan, nan, nan), (-inf, 2.0, inf, pi), (inf, 2.0, inf, 0),
        (-inf, inf, inf, 3 * pi / 4), (inf, inf, inf, pi / 4), (inf, nan, inf, nan), (nan, 2.0, nan, nan), (nan, inf, inf, nan),
        (nan, nan, nan, nan),
    ],
    "asinh": [
        (0.0, 0.0, 0, 0), (2.0, inf, inf, pi / 2), (2.0, nan, nan, nan), (inf, 2.0, inf, 0), (inf, inf, inf, pi / 4),
        (inf, nan, inf, nan), (nan, 0.0, nan, 0), (nan, 2.0, nan, nan), (nan, inf, inf, nan), (nan, nan, nan, nan),
    ],
    "atanh": [
        (0.0, 0.0, 0, 0), (0.0, nan, 0, nan), (1.0, 0.0, inf, 0), (2.0, inf, 0, pi / 2), (2.0, nan, nan, nan), (inf, 2.0, 0, pi / 2),
        (inf, inf, 0, pi / 2), (inf, nan, 0, nan), (nan, 2.0, nan, nan), (nan, inf, 0, pi / 2), (nan, nan, nan, nan),
    ],
}  # fmt: skip
for base in (2, 10):
    TABLE[f"log{base}"] = [
        (a, b, re / np.log(base), im / np.log(base)) for a, b, re, im in TABLE["log"]
    ]


def complexes(re, im, dtype):
    z = np.empty(np.shape(re), dtype)
    z.real, z.imag = re, im
    return z


def same(found, expected, z):
    """As in the standard.

    If a part of the result is nan, or an infinite angle leaves the phase open, signs are unspecified.
    """
    result = np.ones(z.shape, bool)
    is_open = np.isnan(expected.real) | np.isnan(expected.imag)
    is_open |= np.isinf(z.real) & ~np.isfinite(z.imag)
    for a, b in ((found.real, expected.real), (found.imag, expected.imag)):
        result &= np.isclose(np.abs(a), np.abs(b), rtol=1e-6, atol=0, equal_nan=True)
        result &= (
            is_open & ((b == 0) | np.isinf(b)) | np.isnan(b) | (np.signbit(a) == np.signbit(b))
        )
    return result


@pytest.mark.spread(8)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", TABLE)
def test_special_values(name, dtype, on_backend):
    a, b, re, im = np.array(TABLE[name]).T
    z, expected = complexes(a, b, dtype), complexes(re, im, dtype)
    z, expected = np.concatenate([z, z.conj()]), np.concatenate([expected, expected.conj()])
    wide = dtype == "complex128"
    with plugjax.enable_x64(wide), jax.enable_x64(wide):
        program = getattr(jnp, name)
        compiled = np.asarray(plugjax.jit(program)(z))
        right = same(compiled, expected, z)
        if on_backend != "numpy":
            right |= same(compiled, np.asarray(jax.jit(getattr(jax.numpy, name))(z)), z)
        assert [*zip(z[~right], compiled[~right], expected[~right], strict=True)] == []
        found = np.asarray(program(z))
        right = same(found, expected, z)
        assert [*zip(z[~right], found[~right], expected[~right], strict=True)] == []


LARGE = [3e38, 1e30, 1e10, 89.0, 20.5, 2.5, 0.7, 1e-3, 1e-20, 1e-37]
FUNCTIONS = [*TABLE, "abs", "sin", "cos", "tan", "asin", "acos", "atan", "reciprocal"]


# For functions that IREE expands itself; 8 for others.
ULPS = {"asin": 32, "asinh": 32}


@pytest.mark.spread(8)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_large_and_small_numbers(name, on_backend):
    """Values of float64, or on XLA those of JAX."""
    numbers = np.array([*LARGE, *(-np.array(LARGE))], np.float32)
    z = complexes(*map(np.ravel, np.meshgrid(numbers, numbers)), np.complex64)
    with np.errstate(all="ignore"), jax.enable_x64(True):
        if on_backend == "xla":
            expected = np.asarray(jax.jit(getattr(jax.numpy, name))(z))
        else:
            # NumPy's log1p loses small numbers.
            oracle = jax.numpy if name == "log1p" else np
            expected = np.asarray(getattr(oracle, name)(z.astype(np.complex128)))
            expected = expected.astype(np.float32 if expected.dtype.kind == "f" else np.complex64)
    found = np.asarray(plugjax.jit(getattr(jnp, name))(z))
    with np.errstate(all="ignore"):
        error, size = np.abs(found - expected), np.abs(expected)
        # Values that round up beyond the largest number are infinite; subnormal ones may be 0.
        judged = np.isfinite(size) & (size < 3e38) & (size > 1e-37)
        wrong = judged & ~(error <= ULPS.get(name, 8) * np.finfo(np.float32).eps * size)
    bad = [*zip(z[wrong], found[wrong], expected[wrong], strict=True)]
    assert not bad, bad[:4]
