"""Lowering of Fourier transforms.

``stablehlo.fft`` takes up to three axes. On a GPU its inverse real transform over several axes needs symmetry in all of
them. That transform, and those over more than three axes, run axis by axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax.extend.rules import RuleSet, lowering
from plugjax.extend.transforms import stage
from plugjax.lax.fft import FftType, axis_by_axis, fft_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, fft_p)
def transform(
    ctx: EqnContext, x: Value, *, fft_type: FftType, fft_lengths: tuple[int, ...]
) -> Value:
    """The operation, or one for each axis."""
    (out,) = ctx.avals_out
    if 0 in ctx.avals_in[0].shape or 0 in out.shape:
        return mlir.constant(np.zeros((), out.dtype), out.shape)
    rank = len(fft_lengths)
    if rank > 3 or (rank > 1 and fft_type is FftType.IRFFT):
        return as_program(ctx, axis_by_axis, x, fft_type=fft_type, fft_lengths=fft_lengths)
    attributes = {
        "fft_type": mlir.attribute(f"#stablehlo<fft_type {fft_type.name}>"),
        "fft_length": mlir.i64s(fft_lengths),
    }
    return mlir.value("stablehlo.fft", out, [x], attributes)


def as_program(
    ctx: EqnContext, decomposition: Callable[..., Any], x: Value, **params: Any
) -> Value:
    """A transform written in other primitives, as a function of the module."""
    program = stage(lambda v: [decomposition(v, **params)], tuple(ctx.avals_in), "fft")
    return ctx.call(program, [x], "fft")[0]
