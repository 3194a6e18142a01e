"""Fourier transforms. IREE has those over one axis of 2**n elements, in single precision.

Where a program can call Python, NumPy computes the others. Elsewhere they are done axis by axis: by a product with a matrix if the axis is
short or the precision double, else by a convolution of power-of-2 transforms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend import registry
from plugjax.extend.dtypes import COMPLEX64, FLOAT32
from plugjax.extend.rules import RuleSet, impl, lowering
from plugjax.lax.fft import FftType, axis_by_axis, by_convolution, by_matrix, fft_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.fft import as_program, transform
from plugjax.stablehlo.host_call import fallback_policy, kernel_call
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

_LARGEST_MATRIX = 128


@rules.define(lowering, fft_p, platform="iree")
def _fft(ctx: EqnContext, x: Value, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Value:
    params: dict[str, Any] = {"fft_type": fft_type, "fft_lengths": fft_lengths}
    (aval,), (out,) = ctx.avals_in, ctx.avals_out
    if 0 in aval.shape or 0 in out.shape:
        return mlir.constant(np.zeros((), out.dtype), out.shape)
    n = fft_lengths[-1]
    single = aval.dtype in (FLOAT32, COMPLEX64)
    if len(fft_lengths) == 1 and single and n > 1 and n & (n - 1) == 0:
        return transform(ctx, x, **params)
    kernel = registry.table(impl).find(fft_p)
    if (
        kernel is not None
        and ctx.module.emit_host_call is not None
        and fallback_policy(fft_p, ctx.platform) != "error"
    ):
        return ctx.host_call(kernel_call(ctx.eqn, kernel), [x])[0]
    if len(fft_lengths) > 1:
        return as_program(ctx, axis_by_axis, x, **params)
    small = n <= _LARGEST_MATRIX or not single
    return as_program(ctx, by_matrix if small else by_convolution, x, **params)
