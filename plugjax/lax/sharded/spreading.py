"""How results are spread, by primitive, where no compiler decides it: operands' axes keep their cuts where the result has them.

An axis of a mesh cuts one axis of a result at most; the operand that comes first decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend.core import (
    JaxprEqn,
    broadcast_in_dim_p,
    convert_element_type_p,
    optimization_barrier_p,
    reduce_sum_p,
    reshape_p,
    select_n_p,
    transpose_p,
)
from plugjax.extend.meshes import (
    NamedSharding,
    elementwise_spread,
    spread_by,
    spread_rule,
)
from plugjax.extend.rules import RuleSet
from plugjax.lax.dot import dot_general_p
from plugjax.lax.joining import concatenate_p, pad_p, slice_p
from plugjax.lax.reduction import (
    cumlogsumexp_p,
    cummax_p,
    cummin_p,
    cumprod_p,
    cumsum_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_xor_p,
)
from plugjax.lax.shape import rev_p, squeeze_p
from plugjax.lax.slicing import dynamic_slice_p, dynamic_update_slice_p
from plugjax.lax.sorting import sort_p

rules = RuleSet(__name__)

Entries = list[tuple[Any, ...]]


def entries_of(sharding: NamedSharding, ndim: int) -> Entries:
    """The names that cut each axis."""
    return list(sharding.entries(ndim))


rules.define(spread_rule, convert_element_type_p, optimization_barrier_p, select_n_p)(
    elementwise_spread
)


def _one(
    function: Callable[..., Sequence[tuple[Any, ...]]],
) -> Callable[[Sequence[NamedSharding], JaxprEqn], list[Any]]:
    """A rule from a function of the first operand's cuts and shape, the result's shape, and the parameters."""

    def rule(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> list[Any]:
        x, out = eqn.invars[0].aval, eqn.outvars[0].aval
        found = function(entries_of(operands[0], x.ndim), x.shape, out.shape, eqn.params)
        return [spread_by(operands[0], found, out.shape)]

    return rule


@rules.define(spread_rule, transpose_p)
@_one
def _transpose(entries: Entries, shape: Any, out: Any, params: dict[str, Any]) -> Entries:
    return [entries[axis] for axis in params["permutation"]]


@rules.define(spread_rule, broadcast_in_dim_p)
@_one
def _broadcast(entries: Entries, shape: Any, out: Any, params: dict[str, Any]) -> Entries:
    found: Entries = [()] * len(out)
    for axis, target in enumerate(params["broadcast_dimensions"]):
        if shape[axis] == out[target]:
            found[target] = entries[axis]
    return found


@rules.define(
    spread_rule, reduce_sum_p, reduce_max_p, reduce_min_p, reduce_prod_p, reduce_and_p, reduce_or_p, reduce_xor_p
)  # fmt: skip
@_one
def _reduce(entries: Entries, shape: Any, out: Any, params: dict[str, Any]) -> Entries:
    return [names for axis, names in enumerate(entries) if axis not in params["axes"]]


@rules.define(spread_rule, reshape_p)
@_one
def _reshape(entries: Entries, shape: Any, out: Any, params: dict[str, Any]) -> Entries:
    """Cuts of axes that stay, and of the axis that varies slowest among those that are joined or divided."""
    found: Entries = [()] * len(out)
    i = j = 0
    while i < len(shape) and j < len(out):
        found[j] = entries[i]
        a, b, first_i, first_j = shape[i], out[j], i, j
        while a != b:
            if a < b and i + 1 < len(shape):
                i += 1
                a *= shape[i]
            elif b < a and j + 1 < len(out):
                j += 1
                b *= out[j]
            else:
                return found
        if first_i != i and first_j == j and all(entries[k] for k in range(first_i, i + 1)):
            # Axes that are cut whole join to one that is cut by all.
            inner = shape[first_i + 1 : i + 1]
            if all(n == 1 for n in inner):
                found[first_j] = entries[first_i]
        i, j = i + 1, j + 1
    return found


@rules.define(spread_rule, concatenate_p)
def _concatenate(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> list[Any]:
    out = eqn.outvars[0].aval
    entries = entries_of(operands[0], out.ndim)
    entries[eqn.params["dimension"]] = ()
    return [spread_by(operands[0], entries, out.shape)]


@rules.define(spread_rule, dot_general_p)
def _dot(operands: Sequence[NamedSharding], eqn: JaxprEqn) -> list[Any]:
    (contract, batch) = eqn.params["dimension_numbers"]
    lhs, rhs = (
        entries_of(sharding, var.aval.ndim)
        for sharding, var in zip(operands[:2], eqn.invars[:2], strict=True)
    )
    free = [
        [e for axis, e in enumerate(entries) if axis not in (*contract[k], *batch[k])]
        for k, entries in enumerate((lhs, rhs))
    ]
    found = [*(lhs[axis] for axis in batch[0]), *free[0], *free[1]]
    return [spread_by(operands[0], found, eqn.outvars[0].aval.shape)]


@rules.define(
    spread_rule, cumlogsumexp_p, cummax_p, cummin_p, cumprod_p, cumsum_p, dynamic_slice_p, dynamic_update_slice_p, pad_p, rev_p,
    slice_p,
)  # fmt: skip
@_one
def _same_rank(entries: Entries, shape: Any, out: Any, params: dict[str, Any]) -> Entries:
    """Cuts of the axes whose size stays."""
    return [names if n == m else () for names, n, m in zip(entries, shape, out, strict=True)]


@rules.define(spread_rule, squeeze_p)
@_one
def _squeeze(entries: Entries, shape: Any, out: Any, params: dict[str, Any]) -> Entries:
    return [names for axis, names in enumerate(entries) if axis not in params["dimensions"]]


rules.define(spread_rule, sort_p)(elementwise_spread)
