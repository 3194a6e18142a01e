"""The Threefry hash as a loop, which XLA compiles quickly."""

from __future__ import annotations

import numpy as np

from plugjax.extend.core import ShapedArray
from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.random_bits import threefry2x32_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.control_flow import write_loop
from plugjax.stablehlo.mlir import Value
from plugjax.stablehlo.random import PARITY, ROTATIONS, Words, threefry2x32

rules = RuleSet(__name__)

_SCALAR = ShapedArray((), np.dtype(np.uint32))


@rules.define(lowering, threefry2x32_p, platform="xla")
def _threefry2x32(
    ctx: EqnContext, key0: Value, key1: Value, x0: Value, x1: Value
) -> tuple[Value, ...]:
    """The hash as a loop over its five groups of rounds.

    XLA's CPU fusion copies a value into each of its users. Twenty unrolled rounds, in hashes that depend on one another
    as those of split keys do, are copied so often that ten draws take minutes to compile. Loops are not copied.
    """
    if ctx.module.device_kind not in ("", "cpu"):
        return tuple(threefry2x32(ctx, key0, key1, x0, x1))
    out = ctx.avals_out[0]
    words, scalars = Words(out), Words(_SCALAR)
    # Keys without axes stay scalars.
    scalar_keys = not (ctx.avals_in[0].shape or ctx.avals_in[1].shape)
    keys = scalars if scalar_keys else words
    key0, key1 = (
        mlir.broadcast(key, aval, keys.aval)
        for key, aval in zip((key0, key1), ctx.avals_in[:2], strict=True)
    )
    x0, x1 = (
        mlir.broadcast(x, aval, out) for x, aval in zip((x0, x1), ctx.avals_in[2:], strict=True)
    )
    parity = keys.apply("xor", keys.apply("xor", key0, key1), keys.number(PARITY))

    def wide(key: Value) -> Value:
        return mlir.broadcast(key, keys.aval, out)

    def unfinished(group: Value, *_: Value) -> list[Value]:
        return [compare("LT", _SCALAR, group, scalars.number(5))]

    def rounds(
        group: Value, x0: Value, x1: Value, first: Value, second: Value, third: Value
    ) -> list[Value]:
        odd = scalars.apply("and", group, scalars.number(1))
        for even_bits, odd_bits in zip(*ROTATIONS, strict=True):
            # Even or odd by arithmetic, without a branch.
            more = scalars.apply("multiply", odd, scalars.number((odd_bits - even_bits) % 2**32))
            bits = scalars.apply("add", scalars.number(even_bits), more)
            x0 = words.apply("add", x0, x1)
            rest = scalars.apply("subtract", scalars.number(32), bits)
            left = words.apply("shift_left", x1, mlir.broadcast(bits, _SCALAR, out))
            right = words.apply("shift_right_logical", x1, mlir.broadcast(rest, _SCALAR, out))
            x1 = words.apply("xor", words.apply("or", left, right), x0)
        group = scalars.apply("add", group, scalars.number(1))
        x0 = words.apply("add", x0, wide(first))
        injected = words.apply("add", wide(second), mlir.broadcast(group, _SCALAR, out))
        return [group, x0, words.apply("add", x1, injected), second, third, first]

    start = [
        scalars.number(0),
        words.apply("add", x0, wide(key0)),
        words.apply("add", x1, wide(key1)),
        key1,
        parity,
        key0,
    ]
    return tuple(write_loop([v.type for v in start], start, unfinished, rounds)[1:3])
