"""Checks of numbers: nan in results, and divisors that are zero."""

from __future__ import annotations

from typing import Any

from plugjax import lax
from plugjax.experimental.checkify.exceptions import DivisionByZeroError
from plugjax.experimental.checkify.tracing import CheckTrace, any_of, error_check
from plugjax.extend.calls import linear_call_p
from plugjax.extend.core import Primitive
from plugjax.extend.rules import RuleSet

rules = RuleSet(__name__)

# Any nan in their results counts, also one that an operand brought.
ARITHMETIC = (
    lax.acos_p, lax.acosh_p, lax.add_p, lax.asin_p, lax.asinh_p, lax.atan2_p, lax.atan_p, lax.atanh_p, lax.bessel_i0e_p,
    lax.bessel_i1e_p, lax.cbrt_p, lax.conv_general_dilated_p, lax.cos_p, lax.cosh_p, lax.cumlogsumexp_p, lax.cummax_p,
    lax.cummin_p, lax.cumprod_p, lax.cumsum_p, lax.digamma_p, lax.dot_general_p, lax.erf_inv_p, lax.erf_p, lax.erfc_p,
    lax.exp_p, lax.expm1_p, lax.fft_p, lax.igamma_grad_a_p, lax.igamma_p, lax.igammac_p, lax.integer_pow_p, lax.lgamma_p,
    lax.log1p_p, lax.log_p, lax.logistic_p, lax.mul_p, lax.pad_p, lax.pow_p, lax.psum_p, lax.reduce_p, lax.reduce_prod_p,
    lax.reduce_sum_p, lax.reduce_window_p, lax.reduce_window_sum_p, lax.regularized_incomplete_beta_p, lax.rem_p,
    lax.rng_uniform_p, lax.rsqrt_p, lax.sin_p, lax.sinh_p, lax.sqrt_p, lax.sub_p, lax.tan_p, lax.tanh_p,
    # Their derivatives are not those of the programs that they stand for, so they stay one equation.
    lax.linear_solve_p, linear_call_p,
)  # fmt: skip

# They move numbers, choose among them, or give what is not computed from numbers.
MOVEMENT = (
    lax.abs_p, lax.bitcast_convert_type_p, lax.broadcast_in_dim_p, lax.clamp_p, lax.complex_p, lax.concatenate_p, lax.conj_p,
    lax.convert_element_type_p, lax.copy_p, lax.device_put_p, lax.imag_p, lax.max_p, lax.min_p, lax.neg_p,
    lax.optimization_barrier_p, lax.real_p, lax.reduce_max_p, lax.reduce_min_p, lax.reshape_p, lax.rev_p, lax.select_n_p,
    lax.slice_p, lax.sort_p, lax.split_p, lax.squeeze_p, lax.stop_gradient_p, lax.transpose_p,
)  # fmt: skip


def _arithmetic(primitive: Primitive) -> None:
    @rules.define(error_check, primitive)
    def _check(checks: CheckTrace, *operands: Any, **params: Any) -> Any:
        outs = primitive.bind(*operands, **params)
        checks.check_nan(primitive, outs)
        return outs


def _movement(primitive: Primitive) -> None:
    @rules.define(error_check, primitive)
    def _apply(checks: CheckTrace, *operands: Any, **params: Any) -> Any:
        return primitive.bind(*operands, **params)


for _primitive in ARITHMETIC:
    _arithmetic(_primitive)
for _primitive in MOVEMENT:
    _movement(_primitive)


@rules.define(error_check, lax.div_p)
def _div(checks: CheckTrace, x: Any, y: Any, **params: Any) -> Any:
    if DivisionByZeroError in checks.enabled:
        zero = any_of(lax.eq(y, lax.full_like(y, 0)))
        checks.add(zero, DivisionByZeroError, lambda _: DivisionByZeroError())
    out = lax.div_p.bind(x, y, **params)
    checks.check_nan(lax.div_p, out)
    return out
