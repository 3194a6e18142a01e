"""Padding of complex128, of which IREE 3.13 has no element to fill with: it is done in two halves."""

from __future__ import annotations

from plugjax.core import RuleSet, ShapedArray, lowering
from plugjax.core.dtypes import COMPLEX128, FLOAT64
from plugjax.lax.joining import pad_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.joining import PaddingConfig, padded
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)


@rules.define(lowering, pad_p, platform="iree")
def _pad(
    ctx: EqnContext, x: Value, padding_value: Value, *, padding_config: PaddingConfig
) -> Value:
    (out,) = ctx.avals_out
    if out.dtype != COMPLEX128:
        return padded(x, padding_value, out, padding_config)
    half = ShapedArray(out.shape, FLOAT64)
    halves = []
    for name in ("stablehlo.real", "stablehlo.imag"):
        part, fill = (
            mlir.value(name, ShapedArray(aval.shape, FLOAT64), [value])
            for value, aval in zip((x, padding_value), ctx.avals_in, strict=True)
        )
        halves.append(padded(part, fill, half, padding_config))
    return mlir.value("stablehlo.complex", out, halves)
