"""Lowering of the arithmetic of random numbers: Threefry-2x32 with 20 rounds, and a * b + c.

Reference:
    Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC 2011.
"""

from __future__ import annotations

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.random_bits import multiply_add_p, threefry2x32_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.elementwise import stretched
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA


class Words:
    """Arithmetic on 32-bit words of one shape."""

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def apply(self, name: str, *operands: Value) -> Value:
        """A StableHLO operation on words."""
        return mlir.value(f"stablehlo.{name}", self.aval, operands)

    def number(self, value: int) -> Value:
        """A constant in every word."""
        return mlir.constant(np.uint32(value), self.aval.shape)

    def rotate(self, x: Value, bits: int) -> Value:
        """Rotation to the left."""
        left = self.apply("shift_left", x, self.number(bits))
        right = self.apply("shift_right_logical", x, self.number(32 - bits))
        return self.apply("or", left, right)


@rules.define(lowering, threefry2x32_p)
def threefry2x32(ctx: EqnContext, key0: Value, key1: Value, x0: Value, x1: Value) -> list[Value]:
    """The hash, round by round."""
    out = ctx.avals_out[0]
    words = Words(out)
    key0, key1, x0, x1 = (
        mlir.broadcast(v, aval, out)
        for v, aval in zip((key0, key1, x0, x1), ctx.avals_in, strict=True)
    )
    parity = words.apply("xor", words.apply("xor", key0, key1), words.number(PARITY))
    keys = (key0, key1, parity)
    x0, x1 = words.apply("add", x0, key0), words.apply("add", x1, key1)
    for group in range(5):
        for bits in ROTATIONS[group % 2]:
            x0 = words.apply("add", x0, x1)
            x1 = words.apply("xor", words.rotate(x1, bits), x0)
        x0 = words.apply("add", x0, keys[(group + 1) % 3])
        injected = words.apply("add", keys[(group + 2) % 3], words.number(group + 1))
        x1 = words.apply("add", x1, injected)
    return [x0, x1]


@rules.define(lowering, multiply_add_p)
def multiply_add(ctx: EqnContext, a: Value, b: Value, c: Value) -> Value:
    """``a * b + c``; compilers fuse it where the machine has FMA."""
    (out,) = ctx.avals_out
    a, b, c = stretched(ctx, (a, b, c))
    return mlir.value("stablehlo.add", out, [mlir.value("stablehlo.multiply", out, [a, b]), c])
