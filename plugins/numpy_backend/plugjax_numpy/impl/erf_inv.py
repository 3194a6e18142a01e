r"""Inverse error function, with the bits of XLA:CPU.

Normal deviates are ``sqrt(2) * erf_inv(u)``, so a generator agrees with JAX bit for bit only if
its erf_inv does. Giles writes erf_inv(x) = x p(w) with w = -log(1 - x^2): p is smooth in w near 0
and in sqrt(w) in the tail, one polynomial for each piece (two pieces in single precision, three in
double). XLA evaluates

    z = x * (-x)
    l = log1p(z)                     |z| < sqrt(2) - 1: z - z^2/2 + z^3 P(z)/Q(z)   (Cephes)
                                     otherwise: log(1 + z)
    w = -l
    erf_inv(x) = p(w - shift) * x    or p(sqrt(w) - shift) * x

in the dtype of x (halves in float32) and rounds after every operation, with one exception: LLVM
contracts ``a * b + c`` to a fused multiply-add, which rounds once. NumPy has no such operation.

* float32: the product of two float32 is exact in float64, so ``float32(float64(a) * b + c)`` is
  the fused result, up to a double rounding: the float64 sum would have to land on the midpoint of
  two float32 without being it. For no float32 in [-1, 1] does this change erf_inv (tested
  over all of them on x86-64), so the kernel does not look for midpoints.
* float64: the product is split into two float64 by Dekker's algorithm and added with Knuth's
  two-sum. The last two terms are rounded before they are added, so a wrong bit is possible with a
  probability near 2**-50 for each operation.

The logarithm is Cephes' ``logf`` in float32 (XLA expands it) and the C library's ``log`` in
float64 (XLA calls it, and so does ``math.log``; ``numpy.log`` may be another implementation).

XLA flushes subnormals: subnormal arguments count as zero and subnormal results become zero, with
the sign of the argument. The sign and payload of a nan are not reproduced.

The bits are those of machines that have a fused multiply-add (x86-64 with FMA, AArch64).

Reference:
    M. Giles, "Approximating the erfinv function", GPU Computing Gems Jade Edition, 2012.
    S. Moshier, Cephes Mathematical Library: ``logf.c``, ``log1p.c`` (``unity.c``).
    T. J. Dekker, "A floating-point technique for extending the available precision", 1971.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.dtypes import CUSTOM_FLOATS

__all__ = ["erf_inv", "fused_multiply_add"]

Float32 = np.ndarray[Any, np.dtype[np.float32]]
Float64 = np.ndarray[Any, np.dtype[np.float64]]

# Intermediate arrays of this many elements stay in the second-level cache.
_BLOCK_FLOAT32 = 32768
_BLOCK_FLOAT64 = 8192

# The smallest arguments with a normal result. The result below them rounds to the smallest normal
# number, but x86 calls it subnormal, because it tests the exponent after rounding to 24 or 53 bits.
_SMALLEST = {
    np.dtype(np.float32): np.float32(float.fromhex("0x1.20dd78p-126")),
    np.dtype(np.float64): np.float64(float.fromhex("0x1.20dd750429b6dp-1022")),
}

# 2**27 + 1 cuts a float64 into two halves of at most 26 bits each.
_DEKKER_SPLITTER = 134217729.0


def _in_float32(*coefficients: float) -> tuple[float, ...]:
    """Coefficients rounded to float32, as Python floats."""
    return tuple(float(np.float32(coefficient)) for coefficient in coefficients)


# All coefficients start with the highest power.

# Giles, single precision: in w - 2.5 for w < 5, in sqrt(w) - 3 beyond.
_CENTRE_FLOAT32 = _in_float32(
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_TAIL_FLOAT32 = _in_float32(
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)

# Giles, double precision: in w - 3.125 for w < 6.25, in sqrt(w) - 3.25 for w < 16, in sqrt(w) - 5
# beyond.
_CENTRE_FLOAT64 = (
    -3.64441206401782e-21,
    -1.6850591381820166e-19,
    1.28584807152564e-18,
    1.1157877678025181e-17,
    -1.333171662854621e-16,
    2.0972767875968562e-17,
    6.637638134358324e-15,
    -4.054566272975207e-14,
    -8.151934197605472e-14,
    2.6335093153082323e-12,
    -1.2975133253453532e-11,
    -5.415412054294628e-11,
    1.0512122733215323e-09,
    -4.112633980346984e-09,
    -2.9070369957882005e-08,
    4.2347877827932404e-07,
    -1.3654692000834679e-06,
    -1.3882523362786469e-05,
    0.00018673420803405714,
    -0.000740702534166267,
    -0.006033670871430149,
    0.24015818242558962,
    1.6536545626831027,
)
_MIDDLE_FLOAT64 = (
    2.2137376921775787e-09,
    9.075656193888539e-08,
    -2.7517406297064545e-07,
    1.8239629214389228e-08,
    1.5027403968909828e-06,
    -4.013867526981546e-06,
    2.9234449089955446e-06,
    1.2475304481671779e-05,
    -4.7318229009055734e-05,
    6.828485145957318e-05,
    2.4031110387097894e-05,
    -0.0003550375203628475,
    0.0009532893797373805,
    -0.0016882755560235047,
    0.002491442096107851,
    -0.003751208507569241,
    0.005370914553590064,
    1.0052589676941592,
    3.0838856104922208,
)
_TAIL_FLOAT64 = (
    -2.7109920616438573e-11,
    -2.555641816996525e-10,
    1.5076572693500548e-09,
    -3.789465440126737e-09,
    7.61570120807834e-09,
    -1.496002662714924e-08,
    2.914795345090108e-08,
    -6.771199775845234e-08,
    2.2900482228026655e-07,
    -9.9298272942317e-07,
    4.526062597223154e-06,
    -1.968177810553167e-05,
    7.599527703001776e-05,
    -0.00021503011930044477,
    -0.00013871931833623122,
    1.0103004648645344,
    4.849906401408584,
)

# Cephes, log(1 + z) = z - z^2/2 + z^3 P(z)/Q(z) for |z| < sqrt(2) - 1.
_LOG1P_NUMERATOR = (
    4.52700008624452e-05,
    0.49854102823193375,
    6.578732594206104,
    29.911919328553072,
    60.94966798098779,
    57.11296359058554,
    20.039553499201283,
)
_LOG1P_DENOMINATOR = (
    1.0,
    15.062909083469192,
    83.04756596796722,
    221.76239823732857,
    309.09872225312057,
    216.42788614495947,
    60.11866049760384,
)
_LOG1P_NUMERATOR_FLOAT32 = _in_float32(*_LOG1P_NUMERATOR)
_LOG1P_DENOMINATOR_FLOAT32 = _in_float32(*_LOG1P_DENOMINATOR)
_LOG1P_RANGE = math.sqrt(2.0) - 1.0

# Cephes, log(1 + f) = f - f^2/2 + f^3 R(f); XLA cuts R into three pieces, R0 f^6 + R1 f^3 + R2.
_LOG_HIGH = _in_float32(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1)
_LOG_MIDDLE = _in_float32(-1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1)
_LOG_LOW = _in_float32(2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
# log(2) in two parts: the first has few bits, so its multiples by an exponent are exact.
_LOG2_HIGH, _LOG2_LOW = _in_float32(0.693359375, -2.12194440e-4)
_SQRT_HALF = np.float32(0.70710677)


def erf_inv(x: np.ndarray) -> np.ndarray:
    """Inverse of the error function: ``erf(erf_inv(x)) == x``.

    float16, bfloat16 and float32 results are those of XLA:CPU bit for bit, float64 ones up to
    events of probability near 2**-50; the module explains how.

    Shapes:
        x: ``[...]``, floating -> ``[...]``, same dtype.

    Args:
        x: In [-1, 1]. The ends give infinity, numbers beyond them nan.

    Returns:
        A new C-contiguous array.

    Raises:
        TypeError: ``x`` has another dtype.
    """
    if x.dtype == np.float32:
        return _in_blocks(_erf_inv_float32, _BLOCK_FLOAT32, x)
    if x.dtype == np.float64:
        return _in_blocks(_erf_inv_float64, _BLOCK_FLOAT64, x)
    if x.dtype == np.float16 or x.dtype in CUSTOM_FLOATS:
        with np.errstate(under="ignore"):
            return _in_blocks(_erf_inv_float32, _BLOCK_FLOAT32, x.astype(np.float32)).astype(
                x.dtype
            )
    msg = f"erf_inv: x has dtype {x.dtype}. Convert it to a floating dtype first."
    raise TypeError(msg)


def fused_multiply_add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """``a * b + c`` rounded once, as LLVM computes it for XLA:CPU after contraction.

    float32 is exact: the sum of the exact product and ``c`` is rounded to odd in float64, after
    which rounding to float32 gives the correct result (Boldo and Melquiond, 2008). float64 is
    exact up to events of probability near 2**-50, and wants ``|a|, |b| < 2**996`` and a product
    that is zero or above ``2**-969``.

    Shapes:
        a, b, c: broadcast together, all float32 or all float64 -> ``[...]``, same dtype.

    Args:
        a: First factor.
        b: Second factor.
        c: Summand.

    Returns:
        The rounded sum. Subnormal results are not flushed.

    Raises:
        TypeError: The dtypes differ, or are neither float32 nor float64.
    """
    with np.errstate(all="ignore"):
        if a.dtype == b.dtype == c.dtype == np.float32:
            product = np.multiply(a, b, dtype=np.float64)
            total, rest = _two_sum(product, c.astype(np.float64))
            return np.asarray(_to_odd(total, rest).astype(np.float32))
        if a.dtype == b.dtype == c.dtype == np.float64:
            product = np.multiply(a, b)
            total, rest = _two_sum(product, c)
            rest = rest + _product_error(product, *_halves(a), *_halves(b))
            # An infinite total has no remainder.
            return np.asarray(np.where(np.isfinite(total), total + rest, total))
    msg = f"fused_multiply_add: dtypes are {a.dtype}, {b.dtype} and {c.dtype}. Use one of them."
    raise TypeError(msg)


def _in_blocks(kernel: Callable[[np.ndarray], np.ndarray], block: int, x: np.ndarray) -> np.ndarray:
    """Apply ``kernel`` to the elements of ``x`` block by block; floating-point warnings are off."""
    x = np.asarray(x, order="C")
    out = np.empty_like(x, subok=False)
    source, target = x.reshape(-1), out.reshape(-1)
    # Intermediate overflow must not warn the caller; the domain is checked here.
    with np.errstate(all="ignore"):
        for start in range(0, source.size, block):
            piece = source[start : start + block]
            target[start : start + block] = _on_open_interval(kernel, piece)
    return out


def _on_open_interval(kernel: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """``kernel(x)`` where |x| < 1, signed infinity at the ends, nan beyond; no subnormals."""
    magnitude = np.abs(x)
    inside = magnitude < 1
    if inside.all():
        y = kernel(x)
    else:
        y = kernel(np.where(inside, x, 0).astype(x.dtype))
        beyond = np.where(magnitude == 1, np.copysign(np.inf, x), np.nan)
        y = np.where(inside, y, beyond).astype(x.dtype)
    subnormal = magnitude < _SMALLEST[x.dtype]
    if subnormal.any():
        y[subnormal] = np.copysign(0, x[subnormal])
    return y


def _erf_inv_float32(x: Float32) -> Float32:
    """erf_inv on (-1, 1)."""
    log = _log1p_float32(x * -x)
    w = -log
    y = _polynomial_float32(_CENTRE_FLOAT32, w - np.float32(2.5))
    (tail,) = np.nonzero(w >= 5)
    if tail.size:
        y[tail] = _polynomial_float32(_TAIL_FLOAT32, np.sqrt(w[tail]) - np.float32(3))
    return y * x


def _log1p_float32(z: Float32) -> Float32:
    """log(1 + z) on (-1, 0]."""
    near = z > np.float32(-_LOG1P_RANGE)
    (small,) = np.nonzero(near)
    (large,) = np.nonzero(~near)
    log = np.empty_like(z)
    if small.size:
        log[small] = _log1p_near_zero_float32(z[small])
    if large.size:
        log[large] = _log_float32(z[large] + np.float32(1))
    return log


def _log1p_near_zero_float32(z: Float32) -> Float32:
    """log(1 + z) for |z| < sqrt(2) - 1."""
    square = z * z
    ratio = _polynomial_float32(_LOG1P_NUMERATOR_FLOAT32, z)
    ratio /= _polynomial_float32(_LOG1P_DENOMINATOR_FLOAT32, z)
    cubic = (z * square) * ratio
    # XLA fuses -z^2/2 + cubic. Halving is exact, so the fusion changes nothing.
    return z + (cubic - square * np.float32(0.5))


def _log_float32(y: Float32) -> Float32:
    """log(y) for normal y > 0."""
    # y = (1 + f) 2^exponent with 1 + f in [sqrt(1/2), sqrt(2)).
    fraction, exponent_int = np.frexp(y)
    below = fraction < _SQRT_HALF
    exponent = (exponent_int - below).astype(np.float32)
    f = (fraction - np.float32(1)) + np.where(below, fraction, np.float32(0))

    square = f * f
    cube = square * f
    cube_wide = cube.astype(np.float64)
    rest = _polynomial_float32(_LOG_HIGH, f)
    rest = _fma_float32(rest, cube_wide, _polynomial_float32(_LOG_MIDDLE, f))
    rest = _fma_float32(rest, cube_wide, _polynomial_float32(_LOG_LOW, f))
    rest = _fma_float32(rest, cube_wide, exponent * np.float32(_LOG2_LOW))
    rest += f - square * np.float32(0.5)
    return _fma_float32(exponent, _LOG2_HIGH, rest)


def _fma_float32(a: Float32, b: Float64 | float, c: Float32) -> Float32:
    """``a * b + c``, fused up to double rounding; ``b`` holds float32 values."""
    wide = a.astype(np.float64)
    wide *= b
    wide += c
    return wide.astype(np.float32)


def _polynomial_float32(coefficients: Sequence[float], x: Float32) -> Float32:
    """Horner's rule with a fused multiply-add, up to double rounding, in each step."""
    first, *others = coefficients
    x_wide = x.astype(np.float64)
    narrow = np.empty_like(x)
    wide = np.full_like(x_wide, first)
    for coefficient in others:
        wide *= x_wide
        wide += coefficient
        # Rounds to float32. Two casts are faster than one out= of another dtype, which buffers.
        np.copyto(narrow, wide, casting="same_kind")
        np.copyto(wide, narrow)
    return narrow


def _erf_inv_float64(x: Float64) -> Float64:
    """erf_inv on (-1, 1)."""
    log = _log1p_float64(x * -x)
    w = -log
    y = np.empty_like(x)
    centre = w < 6.25
    tail = w >= 16
    for region, coefficients, root, shift in (
        (centre, _CENTRE_FLOAT64, False, 3.125),
        (~(centre | tail), _MIDDLE_FLOAT64, True, 3.25),
        (tail, _TAIL_FLOAT64, True, 5.0),
    ):
        (index,) = np.nonzero(region)
        if index.size:
            variable = np.sqrt(w[index]) if root else w[index]
            y[index] = _polynomial_float64(coefficients, variable - shift)
    return y * x


def _log1p_float64(z: Float64) -> Float64:
    """log(1 + z) on (-1, 0]."""
    near = z > -_LOG1P_RANGE
    (small,) = np.nonzero(near)
    (large,) = np.nonzero(~near)
    log = np.empty_like(z)
    if small.size:
        log[small] = _log1p_near_zero_float64(z[small])
    if large.size:
        log[large] = [math.log(y) for y in (z[large] + 1.0).tolist()]
    return log


def _log1p_near_zero_float64(z: Float64) -> Float64:
    """log(1 + z) for |z| < sqrt(2) - 1."""
    square = z * z
    ratio = _polynomial_float64(_LOG1P_NUMERATOR, z)
    ratio /= _polynomial_float64(_LOG1P_DENOMINATOR, z)
    cubic = (z * square) * ratio
    return z + (cubic - square * 0.5)


def _polynomial_float64(coefficients: Sequence[float], x: Float64) -> Float64:
    """Horner's rule with a fused multiply-add in each step."""
    first, *others = coefficients
    x_high, x_low = _halves(x)
    y = np.full_like(x, first)
    # Preallocate: the loop is bound by memory traffic. It computes _two_sum and _product_error in
    # place.
    product, y_high, y_low, total, rest, scratch = (np.empty_like(x) for _ in range(6))
    for coefficient in others:
        np.multiply(y, x, out=product)

        np.multiply(y, _DEKKER_SPLITTER, out=scratch)
        np.subtract(scratch, y, out=y_high)
        np.subtract(scratch, y_high, out=y_high)
        np.subtract(y, y_high, out=y_low)

        np.multiply(y_high, x_high, out=rest)
        rest -= product
        np.multiply(y_high, x_low, out=scratch)
        rest += scratch
        np.multiply(y_low, x_high, out=scratch)
        rest += scratch
        np.multiply(y_low, x_low, out=scratch)
        rest += scratch

        np.add(product, coefficient, out=total)
        np.subtract(total, product, out=scratch)
        np.subtract(total, scratch, out=y)
        np.subtract(product, y, out=y)
        np.subtract(coefficient, scratch, out=scratch)
        y += scratch

        y += rest
        y += total
    return y


def _halves(x: Float64) -> tuple[Float64, Float64]:
    """``high + low == x``, each short enough that the product of two of them is exact."""
    scaled = x * _DEKKER_SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def _product_error(
    product: Float64, a_high: Float64, a_low: Float64, b_high: Float64, b_low: Float64
) -> Float64:
    """``a * b - product``, exactly, for the rounded ``product`` of a and b."""
    error = a_high * b_high - product
    error = error + a_high * b_low + a_low * b_high
    return error + a_low * b_low


def _two_sum(a: Float64, b: Float64) -> tuple[Float64, Float64]:
    """The rounded sum of a and b, and what rounding took away."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def _to_odd(total: Float64, rest: Float64) -> Float64:
    """``total + rest`` rounded to odd: if inexact, the neighbour whose last bit is one."""
    bits = total.view(np.int64)
    even_and_inexact = (bits & 1 == 0) & (rest != 0) & np.isfinite(total)
    away = np.where((rest > 0) == (total > 0), np.int64(1), np.int64(-1))
    return np.where(even_and_inexact, bits + away, bits).view(np.float64)
