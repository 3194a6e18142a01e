"""What rounding does to the results of a primitive, for comparisons of two backends.

A primitive without a rule rounds each result once, of operands that are as they are.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from plugjax import lax
from plugjax.extend.core import ShapedArray
from plugjax.extend.rules import RuleKind, RuleSet
from plugjax.lax.barrier import name_p


class Rounding(enum.Enum):
    """How results of a primitive are rounded."""

    #: They move, choose or compare operands.
    EXACT = enum.auto()
    #: Each is rounded.
    ROUNDS = enum.auto()
    #: Each is rounded, and depends on the order or the whole part of operands, which are as they are.
    ROUNDS_AFTERWARDS = enum.auto()
    #: They add or multiply up, in an unspecified order: whether they overflow on the way depends on it.
    ACCUMULATES = enum.auto()
    #: They are sums of larger numbers, and as exact as those.
    CANCELS = enum.auto()


RoundingFn = Callable[..., Rounding]
rounding_rule: RuleKind[RoundingFn] = RuleKind(
    "rounding", "(*operands, **params) -> Rounding: how results of these operands are rounded"
)
terms_rule: RuleKind[Callable[..., int]] = RuleKind(
    "terms",
    "(*avals, **params) -> most elements of an operand that one element of a result combines; without a rule, the ratio "
    "of the sizes",
)
rules = RuleSet(__name__)


@rules.define(
    rounding_rule,
    lax.approx_top_k_p, lax.argmax_p, lax.argmin_p, lax.bitcast_convert_type_p, lax.broadcast_in_dim_p, lax.ceil_p,
    lax.clamp_p, lax.complex_p, lax.concatenate_p, lax.conj_p, lax.copy_p, lax.cummax_p, lax.cummin_p, lax.device_put_p,
    lax.dynamic_slice_p, lax.dynamic_update_slice_p, lax.eq_p, lax.eq_to_p, lax.floor_p, lax.gather_p, lax.ge_p, lax.gt_p,
    lax.imag_p, lax.iota_p, lax.is_finite_p, lax.le_p, lax.le_to_p, lax.lt_p, lax.lt_to_p, lax.max_p, lax.min_p, name_p,
    lax.ne_p, lax.neg_p, lax.nextafter_p, lax.optimization_barrier_p, lax.pad_p, lax.real_p, lax.reduce_max_p,
    lax.reduce_min_p, lax.reduce_precision_p, lax.reduce_window_max_p, lax.reduce_window_min_p, lax.rem_p, lax.reshape_p,
    lax.rev_p, lax.round_p, lax.scatter_p, lax.scatter_max_p, lax.scatter_min_p, lax.select_and_gather_add_p,
    lax.select_n_p, lax.sharding_constraint_p, lax.sign_p, lax.slice_p, lax.sort_p, lax.split_p, lax.squeeze_p, lax.stack_p,
    lax.stage_p, lax.stop_gradient_p, lax.tile_p, lax.top_k_p, lax.transpose_p, lax.unstack_p,
)  # fmt: skip
def _exact(*operands: Any, **params: Any) -> Rounding:
    return Rounding.EXACT


@rules.define(rounding_rule, lax.abs_p)
def _abs_rounding(x: Any) -> Rounding:
    return Rounding.ROUNDS if x.dtype.kind == "c" else Rounding.EXACT


@rules.define(
    rounding_rule,
    lax.conv_general_dilated_p, lax.cumprod_p, lax.cumsum_p, lax.dot_general_p, lax.reduce_prod_p, lax.reduce_sum_p,
    lax.reduce_window_sum_p,
)  # fmt: skip
def _accumulates(*operands: Any, **params: Any) -> Rounding:
    return Rounding.ACCUMULATES


@rules.define(rounding_rule, lax.lgamma_p)
def _lgamma_rounding(x: Any) -> Rounding:
    return Rounding.CANCELS


@rules.define(rounding_rule, lax.select_and_scatter_add_p)
def _select_and_scatter_add_rounding(*operands: Any, **params: Any) -> Rounding:
    return Rounding.ROUNDS_AFTERWARDS


@rules.define(rounding_rule, lax.convert_element_type_p)
def _conversion_rounding(x: Any, **params: Any) -> Rounding:
    # From a narrower float, or from no float at all: exact, or rounded the same everywhere.
    if x.dtype.kind in "biu" or x.dtype.itemsize <= 2:
        return Rounding.EXACT
    return Rounding.ROUNDS_AFTERWARDS


@rules.define(
    terms_rule, lax.cumlogsumexp_p, lax.cummax_p, lax.cummin_p, lax.cumprod_p, lax.cumsum_p
)
def _cumulative_terms(x: ShapedArray, *, axis: int, reverse: bool) -> int:
    return x.shape[axis]
