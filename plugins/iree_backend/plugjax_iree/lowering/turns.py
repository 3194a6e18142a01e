"""Angles of float32 numbers as quarter turns, in integers: for devices without float64.

Mesa's Vulkan reduces angles in float32 (22.3: the sine of 1e5 is wrong by 4e-3, that of 1e10 is 0). A float32 is an integer of 24
bits times a power of two. Its product with 2/pi is needed modulo 4: multiples of 4 in the bits of 2/pi are skipped, and the 96 bits that
follow hold the quarter turn and its fraction, also where the angle is next to a quarter turn.

Reference:
    M. Payne, R. Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18, 1983.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.integers import Integers
from plugjax_iree.lowering.wide import Wide

TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163AB
"""The first 224 bits of 2/pi, the first of them worth 1/2."""
_WORD = 32
# A word of zeros before 2/pi, so that a window also begins before it.
_WORDS = [0, *(TWO_OVER_PI >> (_WORD * i) & 0xFFFFFFFF for i in reversed(range(7)))]
# Bits that numbers of this exponent skip: none.
_EXPONENT = 120


def quarter_turns(w: Wide, x: Value) -> tuple[Value, Value]:
    """The quarter turns next to positive angles, modulo 4, as int32, and what is left, in radians.

    Args:
        w: float32.
        x: radians, not negative.
    """
    z = Integers(w)
    mantissa, exponent = z.parts(x)
    top, below = _product(z, mantissa, _window(z, z.op("subtract", exponent, _EXPONENT)))
    fraction = z.op("or", z.left(top, 2), z.right(below, 30))
    rest = z.left(below, 2)
    # The fraction is signed: from a half on it counts down to the next quarter turn.
    quarter = z.op("and", z.op("add", z.right(top, 30), z.right(fraction, 31)), 3)
    turn = w.op(
        "add",
        w.op("multiply", w.op("convert", fraction), w.number(2.0**-32)),
        # The lower word has no sign.
        w.op("multiply", w.op("convert", z.right(rest, 1)), w.number(2.0**-63)),
    )
    small = w.is_("LT", x, w.number(math.pi / 4))
    radians = w.where(small, x, w.op("multiply", turn, w.number(math.pi / 2)))
    return w.op("select", small, z.number(0), quarter, aval=z.aval), radians


def _window(z: Integers, skip: Value) -> list[Value]:
    """The three words of 2/pi after as many bits, the lowest first."""
    first = z.right(skip, 5)
    count = z.op("and", skip, 31)
    others = z.op("subtract", z.number(31), count)
    at = [compare("EQ", z.aval, first, z.number(i)) for i in range(1, 5)]

    def word(k: int) -> Value:
        found = z.number(_WORDS[k])
        for i, flags in enumerate(at, 1):
            found = z.w.op("select", flags, z.number(_WORDS[i + k]), found, aval=z.aval)
        return found

    words = [word(k) for k in range(4)]
    # In two shifts: one by 32 bits is undefined.
    joined = [
        z.op("or", z.left(a, count), z.right(z.right(b, 1), others))
        for a, b in itertools.pairwise(words)
    ]
    return joined[::-1]


def _product(z: Integers, mantissa: Value, words: Sequence[Value]) -> tuple[Value, Value]:
    """The upper two words of a product modulo 2**96."""
    low, high = z.halves(mantissa)
    limbs = [half for each in words for half in z.halves(each)]
    found, carry = [], z.number(0)
    before: Value | None = None
    for limb in limbs:
        down, up = z.halves(z.op("multiply", low, limb))
        total, above = z.op("add", carry, down), up
        if before is not None:
            down, up = z.halves(z.op("multiply", high, before))
            total, above = z.op("add", total, down), z.op("add", above, up)
        kept, more = z.halves(total)
        found.append(kept)
        carry, before = z.op("add", above, more), limb
    top, below = (z.op("or", z.left(found[i + 1], 16), found[i]) for i in (4, 2))
    return top, below
