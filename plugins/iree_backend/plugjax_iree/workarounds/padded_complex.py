"""Padding of complex arrays, real and imaginary part apart: sums of padded ones crash IREE 3.13, and there is no complex128 element to pad with."""

from __future__ import annotations

from plugjax.extend.rules import RuleSet, lowering
from plugjax.lax.joining import pad_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.complex import real_aval
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.joining import PaddingConfig, padded
from plugjax.stablehlo.mlir import Value
from plugjax_iree.workarounds.switch import is_on

rules = RuleSet(__name__)


@rules.define(lowering, pad_p, platform="iree")
def _pad(
    ctx: EqnContext, x: Value, padding_value: Value, *, padding_config: PaddingConfig
) -> Value:
    (out,) = ctx.avals_out
    if out.dtype.kind != "c" or not is_on("padded_complex"):
        return padded(x, padding_value, out, padding_config)
    half = real_aval(out)
    halves = []
    for name in ("stablehlo.real", "stablehlo.imag"):
        part, fill = (
            mlir.value(name, real_aval(aval), [value])
            for value, aval in zip((x, padding_value), ctx.avals_in, strict=True)
        )
        halves.append(padded(part, fill, half, padding_config))
    return mlir.value("stablehlo.complex", out, halves)
