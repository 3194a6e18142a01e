"""Checks of indices: windows that leave the array.

What an operation does with such a window (clamp, fill, drop) makes no difference, as in JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.experimental.checkify.exceptions import OOBError
from plugjax.experimental.checkify.tracing import CheckTrace, any_of, error_check
from plugjax.extend.core import Primitive, aval_of
from plugjax.extend.rules import RuleSet
from plugjax.lax.dimension_numbers import scatter_slice_sizes

rules = RuleSet(__name__)


def check_starts(
    checks: CheckTrace, operand: Any, starts: Any, axes: Sequence[int], sizes: Sequence[int]
) -> None:
    """Add a check that windows lie within an array.

    Args:
        checks: what gets it.
        operand: the array.
        starts: ``[..., k]``: where windows start.
        axes: the axis of the array for each of the ``k`` entries.
        sizes: shape of a window, with an entry for each axis of the array.
    """
    starts_aval = aval_of(starts)
    if OOBError not in checks.enabled or not starts_aval.size:
        return
    shape = aval_of(operand).shape
    greatest = np.iinfo(starts_aval.dtype).max
    last = np.array([min(shape[d] - sizes[d], greatest) for d in axes], starts_aval.dtype)
    limits = jnp.broadcast_to(last, starts_aval.shape)
    outside = lax.bitwise_or(lax.lt(starts, lax.full_like(starts, 0)), lax.gt(starts, limits))
    # The first one that is outside is named.
    position = jnp.argmax(lax.reshape(outside, (starts_aval.size,)))
    index = lax.dynamic_index_in_dim(lax.reshape(starts, (starts_aval.size,)), position, 0, False)
    entry = lax.rem(position, lax.full_like(position, len(axes)))
    axis = lax.dynamic_index_in_dim(np.array(axes, np.int32), entry, 0, False)
    size = lax.dynamic_index_in_dim(np.array(shape, np.int32), axis, 0, False)
    place = jnp.stack([index.astype(np.int32), axis, size])
    checks.add(any_of(outside), OOBError, lambda payload: OOBError(shape, payload[0]), [place])


@rules.define(error_check, lax.gather_p)
def _gather(
    checks: CheckTrace,
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: tuple[int, ...],
    **params: Any,
) -> Any:
    check_starts(checks, operand, indices, dimension_numbers.start_index_map, slice_sizes)
    return lax.gather_p.bind(
        operand,
        indices,
        dimension_numbers=dimension_numbers,
        slice_sizes=slice_sizes,
        **params,
    )


@rules.define(error_check, lax.dynamic_slice_p)
def _dynamic_slice(
    checks: CheckTrace, operand: Any, *starts: Any, slice_sizes: tuple[int, ...], **params: Any
) -> Any:
    if starts:
        check_starts(checks, operand, jnp.stack(starts), range(len(starts)), slice_sizes)
    return lax.dynamic_slice_p.bind(operand, *starts, slice_sizes=slice_sizes, **params)


@rules.define(error_check, lax.dynamic_update_slice_p)
def _dynamic_update_slice(
    checks: CheckTrace, operand: Any, update: Any, *starts: Any, **params: Any
) -> Any:
    if starts:
        sizes = aval_of(update).shape
        check_starts(checks, operand, jnp.stack(starts), range(len(starts)), sizes)
    return lax.dynamic_update_slice_p.bind(operand, update, *starts, **params)


def _scatter(primitive: Primitive, computes: bool) -> None:
    @rules.define(error_check, primitive)
    def _check(
        checks: CheckTrace,
        operand: Any,
        indices: Any,
        updates: Any,
        *,
        dimension_numbers: Any,
        **params: Any,
    ) -> Any:
        sizes = scatter_slice_sizes(aval_of(operand), aval_of(updates), dimension_numbers)
        axes = dimension_numbers.scatter_dims_to_operand_dims
        check_starts(checks, operand, indices, axes, sizes)
        out = primitive.bind(
            operand, indices, updates, dimension_numbers=dimension_numbers, **params
        )
        if computes:
            checks.check_nan(primitive, out)
        return out


_scatter(lax.scatter_p, computes=False)
for _primitive in (lax.scatter_add_p, lax.scatter_mul_p, lax.scatter_min_p, lax.scatter_max_p):
    _scatter(_primitive, computes=True)
