"""Sums of two floats, of which the second is at most half a unit in the last place of the first: twice the digits of one.

Powers need them: an error of the logarithm is multiplied by the exponent, and the exponential of a large number makes a large relative error
of a small absolute one.

A product is exact as four products of halves that have half the bits each, also where the compiler adds products before it rounds them.

Reference:
    T. J. Dekker, "A floating-point technique for extending the available precision", Numerische Mathematik 18, 1971.
    M. Joldes, J.-M. Muller, V. Popescu, "Tight and rigorous error bounds for basic building blocks of double-word arithmetic", ACM TOMS 44, 2017.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import FLOAT32, FLOAT64, INT32, INT64, DType
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.wide import Wide

DoubleWord: TypeAlias = tuple[Value, Value]


@dataclass(frozen=True)
class _Format:
    """How a float is written, and what follows from it.

    Attributes:
        integers: the integers of its size.
        mantissa: bits of a mantissa without its first, which is always set.
        half: how many of them the lower half of a number has.
        root: the bits of the square root of a half, rounded up.
        short: bits of the first part of the logarithm of 2, whose product with every exponent is exact.
        terms: terms of the series of the logarithm that count.
        limit: an exponent beyond which every power but those of 1 overflows or is zero.
    """

    integers: DType
    mantissa: int
    half: int
    root: int
    short: int
    terms: int
    limit: float


_FORMATS = {
    FLOAT32: _Format(INT32, 23, 12, 0x3F3504F4, 16, 6, 2.0**40),
    FLOAT64: _Format(INT64, 52, 27, 0x3FE6A09E667F3BCD, 42, 12, 2.0**70),
}


def _parts(value: Fraction, *bits: int) -> list[float]:
    """A number below 1 as a sum of floats that have so many bits each."""
    found = []
    for count in bits:
        unit = 2 ** (count - math.frexp(float(value))[1])
        part = Fraction(round(value * unit), unit)
        found.append(float(part))
        value -= part
    return found


# The logarithm of 2 with 136 bits behind the point.
_LOG_2 = Fraction(0xB17217F7D1CF79ABC9E3B39803F2F6AF40, 1 << 136)


def total(w: Wide, x: Value, y: Value) -> DoubleWord:
    """The sum of two floats, exactly."""
    s = w.op("add", x, y)
    seen = w.op("subtract", s, x)
    lost = w.op("subtract", x, w.op("subtract", s, seen))
    return s, w.op("add", lost, w.op("subtract", y, seen))


def product(w: Wide, x: Value, y: Value) -> DoubleWord:
    """The product of two floats, exactly if neither it nor its rest overflows or is subnormal."""
    p = w.op("multiply", x, y)
    (a, b), (c, d) = _halves(w, x), _halves(w, y)
    rest = w.op("subtract", w.op("multiply", a, c), p)
    for left, right in ((a, d), (b, c), (b, d)):
        rest = w.op("add", rest, w.op("multiply", left, right))
    return p, rest


def _halves(w: Wide, x: Value) -> DoubleWord:
    """The upper half of the digits of a number, and the lower."""
    form = _FORMATS[w.aval.dtype]
    bits = ShapedArray(w.aval.shape, form.integers)
    mask = w.ctx.constant(-1 << form.half, bits)
    upper = w.op("and", w.op("bitcast_convert", x, aval=bits), mask, aval=bits)
    high = w.op("bitcast_convert", upper)
    return high, w.op("subtract", x, high)


def logarithm(w: Wide, x: Value) -> DoubleWord:
    """The natural logarithm of positive normal numbers, with an error of about 2**-10 units in the last place of the first word.

    For ``x == m * 2**e`` and ``s == (m - 1) / (m + 1)`` it is ``e log 2 + 2 atanh s``, with m between the square roots of 1/2 and of 2.
    """
    form, one, two = _FORMATS[w.aval.dtype], w.number(1.0), w.number(2.0)
    ints = ShapedArray(w.aval.shape, form.integers)
    width = w.ctx.constant(form.mantissa, ints)
    bits = w.op("bitcast_convert", x, aval=ints)
    above = w.op("subtract", bits, w.ctx.constant(form.root, ints), aval=ints)
    e = w.op("shift_right_arithmetic", above, width, aval=ints)
    m = w.op(
        "bitcast_convert",
        w.op("subtract", bits, w.op("shift_left", e, width, aval=ints), aval=ints),
    )
    exponent = convert(e, ints, w.aval.dtype)
    f, g = w.op("subtract", m, one), w.op("add", m, one)
    g_rest = w.op("subtract", m, w.op("subtract", g, one))
    s = w.op("divide", f, g)
    near, rest = product(w, s, g)
    left = w.op("subtract", w.op("subtract", f, near), rest)
    s_rest = w.op("divide", w.op("subtract", left, w.op("multiply", s, g_rest)), g)
    # The series is 2 s (1 + s**2 (1/3 + s**2 / 5 + ...)), its first two terms as double words.
    z, z_rest = product(w, s, s)
    z_rest = w.op("add", z_rest, w.op("multiply", two, w.op("multiply", s, s_rest)))
    tail = w.polynomial(z, [1 / (2 * k + 5) for k in range(form.terms)])
    digits = form.mantissa + 1
    third, third_rest = map(w.number, _parts(Fraction(1, 3), digits, digits))
    c, c_rest = total(w, third, w.op("multiply", z, tail))
    correction = _times(w, (z, z_rest), (c, w.op("add", c_rest, third_rest)))
    change = _times(w, (s, s_rest), correction)
    log, log_rest = total(w, s, change[0])
    log_rest = w.op("add", log_rest, w.op("add", s_rest, change[1]))
    log, log_rest = w.op("multiply", two, log), w.op("multiply", two, log_rest)
    short, long = (w.number(c) for c in _parts(_LOG_2, form.short, digits))
    whole, whole_rest = total(w, w.op("multiply", exponent, short), log)
    small = w.op("add", w.op("multiply", exponent, long), log_rest)
    return total(w, whole, w.op("add", whole_rest, small))


def _times(w: Wide, x: DoubleWord, y: DoubleWord) -> DoubleWord:
    """A product of double words, its last digits rounded."""
    p, rest = product(w, x[0], y[0])
    cross = w.op("add", w.op("multiply", x[0], y[1]), w.op("multiply", x[1], y[0]))
    return p, w.op("add", rest, cross)


def scaled_exponential(w: Wide, scale: Value, x: DoubleWord) -> Value:
    """``exp(scale * x)``; the error is that of the exponential and one rounding."""
    limit = w.number(_FORMATS[w.aval.dtype].limit)
    far = w.is_("GT", w.op("abs", scale), limit)
    scale = w.where(far, w.negated_where(w.is_negative(scale), limit), scale)
    exponent, rest = product(w, scale, x[0])
    rest = w.op("add", rest, w.op("multiply", scale, x[1]))
    power = w.op("exponential", exponent)
    # An infinity stays.
    finite = w.is_("LT", power, w.number(math.inf))
    return w.where(finite, w.op("add", power, w.op("multiply", power, rest)), power)


def log_2(w: Wide) -> DoubleWord:
    """The natural logarithm of 2."""
    digits = _FORMATS[w.aval.dtype].mantissa + 1
    first, second = map(w.number, _parts(_LOG_2, digits, digits))
    return first, second
