"""What the primitives of lax do with the memory of their operands (`plugjax.execution.storage`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType

import numpy as np

from plugjax import lax
from plugjax.extend.core import JaxprEqn, Literal, Primitive
from plugjax.extend.execution import Storage, storage
from plugjax.extend.rules import RuleSet
from plugjax.lax import (
    arithmetic,
    bessel,
    callback,
    comparison,
    debug_callback,
    exponential,
    incomplete_beta,
    incomplete_gamma,
    inspection,
    linalg,
    random_bits,
    reduction,
    special,
    tokens,
    trigonometric,
)
from plugjax.lax.barrier import name_p
from plugjax.lax.collectives import all_gather_invariant_p, pvary_p
from plugjax.lax.linalg import householder, solve
from plugjax.lax.summands import (
    CASTS,
    all_gather_reduced_p,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
)

rules = RuleSet(__name__)


def _others(*modules: ModuleType) -> set[Primitive]:
    """The primitives in modules that are not declared yet; modules also name primitives of others."""
    declared = {rule.primitive for rule in rules.rules}
    found = {v for m in modules for v in vars(m).values() if isinstance(v, Primitive)}
    return found - declared


def _declare(found: Storage, *primitives: Primitive) -> None:
    rules.define(storage, *primitives)(lambda eqn: found)


# What gives elements of its operands, or may be found to: the greater of equal ones, what is negated twice.
_CHOICES = (
    lax.and_p,
    lax.clamp_p,
    lax.complex_p,
    lax.conj_p,
    lax.convert_element_type_p,
    lax.imag_p,
    lax.max_p,
    lax.min_p,
    lax.neg_p,
    lax.not_p,
    lax.real_p,
    lax.select_n_p,
)
_declare(Storage.MOVES | Storage.LOCAL, *_CHOICES)
_declare(
    Storage.MOVES,
    lax.bitcast_convert_type_p,
    lax.broadcast_in_dim_p,
    lax.concatenate_p,
    lax.copy_p,
    lax.dynamic_slice_p,
    lax.optimization_barrier_p,
    lax.pad_p,
    pvary_p,
    lax.reduce_precision_p,
    lax.reshape_p,
    lax.rev_p,
    lax.slice_p,
    lax.split_p,
    lax.squeeze_p,
    lax.stack_p,
    lax.stage_p,
    lax.stop_gradient_p,
    lax.tile_p,
    lax.transpose_p,
    lax.unstack_p,
    name_p,
    *CASTS,
)

# Literal operands that change nothing, which a compiler may know.
_NEUTRAL: dict[Primitive, int] = {
    lax.add_any_p: 0,
    lax.add_p: 0,
    lax.div_p: 1,
    lax.integer_pow_p: 1,
    lax.mul_p: 1,
    lax.or_p: 0,
    lax.pow_p: 1,
    lax.shift_left_p: 0,
    lax.shift_right_arithmetic_p: 0,
    lax.shift_right_logical_p: 0,
    lax.sub_p: 0,
    lax.xor_p: 0,
}


def _or_operand(neutral: int) -> Callable[[JaxprEqn], Storage]:
    def rule(eqn: JaxprEqn) -> Storage:
        read = [v.val for v in eqn.invars if isinstance(v, Literal)] + [eqn.params.get("y")]
        moves = any(v is not None and np.all(np.asarray(v) == neutral) for v in read)
        return Storage.LOCAL | (Storage.MOVES if moves else Storage(0))

    return rule


for _primitive, _neutral in _NEUTRAL.items():
    rules.define(storage, _primitive)(_or_operand(_neutral))

_declare(
    Storage.WRITES,
    lax.dynamic_update_slice_p,
    lax.scatter_add_p,
    lax.scatter_max_p,
    lax.scatter_min_p,
    lax.scatter_mul_p,
    lax.scatter_p,
    lax.scatter_sub_p,
)


def _of_as_many(found: Storage) -> Callable[[JaxprEqn], Storage]:
    """Of axes of size 1, and of windows of one place, nothing is computed: a result has as many elements as an operand."""

    def rule(eqn: JaxprEqn) -> Storage:
        sizes = {math.prod(v.aval.shape) for v in eqn.invars}
        moves = any(math.prod(v.aval.shape) in sizes for v in eqn.outvars)
        return found | (Storage.MOVES if moves else Storage(0))

    return rule


_WINDOWS = (
    all_gather_invariant_p,
    all_gather_reduced_p,
    lax.all_gather_p,
    lax.all_to_all_p,
    lax.fft_p,
    lax.gather_p,
    lax.pmax_p,
    lax.pmin_p,
    lax.ppermute_p,
    lax.psum_p,
    lax.reduce_scatter_p,
    lax.reduce_window_max_p,
    lax.reduce_window_min_p,
    lax.reduce_window_p,
    lax.reduce_window_sum_p,
    lax.select_and_gather_add_p,
    lax.select_and_scatter_add_p,
    lax.select_and_scatter_p,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
)
rules.define(storage, *_WINDOWS)(_of_as_many(Storage(0)))
_declare(
    Storage.LOCAL,
    *_others(
        arithmetic,
        bessel,
        comparison,
        exponential,
        incomplete_beta,
        incomplete_gamma,
        special,
        trigonometric,
    ),
    random_bits.multiply_add_p,
)
_REDUCTIONS = _others(reduction) | {lax.reduce_p, lax.sort_p, lax.top_k_p}
rules.define(storage, *_REDUCTIONS)(_of_as_many(Storage.WHOLE))

_declare(Storage.WHOLE, lax.scan_p, lax.while_p)


# A product over one place, of which one factor is 1, is the other factor.
@rules.define(storage, lax.dot_general_p)
def _dot_general(eqn: JaxprEqn) -> Storage:
    (contracting, _), _ = eqn.params["dimension_numbers"]
    single = all(eqn.invars[0].aval.shape[axis] == 1 for axis in contracting)
    return Storage.WHOLE | (Storage.MOVES if single else Storage(0))


@rules.define(storage, lax.conv_general_dilated_p)
def _conv_general_dilated(eqn: JaxprEqn) -> Storage:
    kernel = eqn.invars[1].aval
    outputs = kernel.shape[eqn.params["dimension_numbers"].rhs_spec[0]]
    return Storage.WHOLE | (Storage.MOVES if kernel.size == outputs else Storage(0))


_declare(
    Storage(0),
    *_others(callback, debug_callback, householder, inspection, linalg, solve, tokens),
    lax.axis_index_p,
    lax.dce_sink_p,
    lax.iota_p,
    lax.ragged_all_to_all_p,
    lax.rng_bit_generator_p,
    lax.rng_uniform_p,
    random_bits.threefry2x32_p,
)
