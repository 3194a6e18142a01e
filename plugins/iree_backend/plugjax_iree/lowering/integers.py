"""Arithmetic on the bits of float32 numbers, modulo 2**32."""

from __future__ import annotations

from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import INT32
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.wide import Wide

MANTISSA = 23
"""Bits of a mantissa without its first, which is always set."""
_HALF = 0xFFFF


class Integers:
    """Arithmetic on int32 of one shape. The type is signed, because IREE computes unsigned numbers as if they were signed.

    Args:
        w: arithmetic on the floats.
    """

    def __init__(self, w: Wide) -> None:
        self.w = w
        self.aval = ShapedArray(w.aval.shape, INT32)

    def number(self, value: int) -> Value:
        """A number below 2**32, everywhere."""
        return self.w.ctx.constant(value - (value >> 31 << 32), self.aval)

    def op(self, name: str, x: Value, y: Value | int) -> Value:
        """An operation of StableHLO."""
        y = self.number(y) if isinstance(y, int) else y
        return self.w.op(name, x, y, aval=self.aval)

    def right(self, x: Value, count: Value | int) -> Value:
        """Bits shifted right; zeros come from the left."""
        return self.op("shift_right_logical", x, count)

    def left(self, x: Value, count: Value | int) -> Value:
        """Bits shifted left."""
        return self.op("shift_left", x, count)

    def halves(self, x: Value) -> tuple[Value, Value]:
        """The lower and the upper 16 bits."""
        return self.op("and", x, _HALF), self.right(x, 16)

    def parts(self, x: Value) -> tuple[Value, Value]:
        """The 24 bits of the mantissa and the biased exponent of positive normal float32 numbers."""
        bits = self.w.op("bitcast_convert", x, aval=self.aval)
        first = 1 << MANTISSA
        return self.op("or", self.op("and", bits, first - 1), first), self.right(bits, MANTISSA)
