"""Dot products with groups along one axis: every group of rows has its own matrix.

An axis of the left operand is ragged: its first ``group_sizes[0]`` elements are group 0, the next are group 1, and so
on; elements beyond the last group count as 0. With [g, ...] a copy of an array for each group, zero outside of it, and
the axis m ragged:

    m is kept         y[m, n] = sum over g, k of x[g, m, k] w[g, k, n]
    m is contracted   y[g, k, n] = sum over m of x[g, m, k] w[g, m, n]      its derivative by w
    m is a batch axis y[m, k, n] = sum over j of x[m, k, j] w[m, j, n]      groups make no difference
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import Array, ArrayLike, ShapedArray, as_array, aval_of
from plugjax.extend.dtypes import INT32, DTypeLike
from plugjax.extend.errors import DtypeError, ShapeError
from plugjax.extend.meshes import ShardingLike
from plugjax.extend.rules import RuleSet, abstract_eval
from plugjax.lax.arithmetic import sub
from plugjax.lax.comparison import bitwise_and, le, lt
from plugjax.lax.compound import compound, new_compound
from plugjax.lax.conversion import convert_element_type
from plugjax.lax.dot import (
    Axes,
    CanonicalNumbers,
    PrecisionLike,
    canonicalize_precision,
    dot_general,
    dot_general_aval,
    free_axes,
)
from plugjax.lax.placement import freely, laid_out
from plugjax.lax.reduction import cumsum
from plugjax.lax.selection import select
from plugjax.lax.shape import broadcast, broadcast_in_dim, broadcasted_iota, full_like, transpose

rules = RuleSet(__name__)

ragged_dot_general_p = new_compound("ragged_dot_general")


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Meaning of axes in a ragged dot product.

    Attributes:
        dot_dimension_numbers: as of ``dot_general``.
        lhs_ragged_dimensions: the one axis of the left operand that groups divide.
        rhs_group_dimensions: the axis of the right operand that counts groups, if the ragged axis is kept.
    """

    dot_dimension_numbers: CanonicalNumbers
    lhs_ragged_dimensions: Axes
    rhs_group_dimensions: Axes

    def __post_init__(self) -> None:
        contracting, batch = (
            tuple(tuple(axes) for axes in pair) for pair in self.dot_dimension_numbers
        )
        object.__setattr__(self, "dot_dimension_numbers", (contracting, batch))
        object.__setattr__(self, "lhs_ragged_dimensions", tuple(self.lhs_ragged_dimensions))
        object.__setattr__(self, "rhs_group_dimensions", tuple(self.rhs_group_dimensions))


_ROWS = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Products of matrices, one for each group of rows.

    Shapes:
        lhs: ``[m, k]``; rhs: ``[g, k, n]``; group_sizes: ``[g]``, integer -> ``[m, n]``.

    Args:
        lhs: rows; the first ``group_sizes[0]`` are multiplied by ``rhs[0]``, and so on; rows beyond the last group give
            0.
        rhs: a matrix for each group.
        group_sizes: numbers of rows.
        precision: as of :func:`dot`.
        preferred_element_type: as of :func:`dot`.
        group_offset: not supported, as in JAX.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.ragged_dot(jnp.ones((3, 1)), jnp.array([[[1.0]], [[2.0]]]), jnp.array([1, 2]))
        Array([[1.],
               [2.],
               [2.]], dtype=float32)
    """
    return ragged_dot_general(
        lhs, rhs, group_sizes, _ROWS, precision, preferred_element_type, group_offset, out_sharding
    )


def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Dot products with groups along an axis of ``lhs``: kept, contracted, or of the batch.

    Shapes:
        group_sizes: ``[g]``, or ``[b..., x..., g]`` with the batch axes and the axes of the same kind in front of the ragged one.
        result: as of ``dot_general``; ``[g, ...]`` if the ragged axis is contracted.

    Args:
        lhs: one operand.
        rhs: the other; has an axis of groups if the ragged axis is kept.
        group_sizes: integer.
        ragged_dot_dimension_numbers: which axis means what.
        precision: as of :func:`dot`.
        preferred_element_type: as of :func:`dot`.
        group_offset: not supported, as in JAX.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Raises:
        TypeError: shapes, axes or dtypes do not fit.
        NotImplementedError: ``group_offset`` is given.

    Differs from JAX:
        All three kinds have derivatives, and batch axes may be anywhere.

    Example:
        >>> import plugjax
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])
        >>> lax.ragged_dot_general(jnp.ones((3, 2)), jnp.ones((2, 2, 1)), jnp.array([1, 2]), numbers)
        Array([[2.],
               [2.],
               [2.]], dtype=float32)
    """
    if group_offset is not None:
        raise NotImplementedError("ragged_dot: group_offset is not supported; leave it out.")
    if out_sharding is not None:
        return laid_out(
            "ragged_dot",
            freely(
                ragged_dot_general,
                lhs=lhs,
                rhs=rhs,
                group_sizes=group_sizes,
                ragged_dot_dimension_numbers=ragged_dot_dimension_numbers,
                precision=precision,
                preferred_element_type=preferred_element_type,
                group_offset=group_offset,
            ),
            out_sharding,
        )
    preferred = (
        None if preferred_element_type is None else dtypes.canonicalize(preferred_element_type)
    )
    (found,) = ragged_dot_general_p.bind(
        as_array(lhs, "ragged_dot"),
        as_array(rhs, "ragged_dot"),
        as_array(group_sizes, "ragged_dot"),
        ragged_dot_dimension_numbers=ragged_dot_dimension_numbers,
        precision=canonicalize_precision(precision),
        preferred_element_type=preferred,
    )
    return found


def _prefix(rank: int, numbers: RaggedDotDimensionNumbers) -> Axes:
    """The axes of the left operand along which groups may differ."""
    (contracting, _), (batch, _) = numbers.dot_dimension_numbers
    (ragged,) = numbers.lhs_ragged_dimensions
    if ragged in batch:
        return batch[: batch.index(ragged)]
    kind = contracting if ragged in contracting else free_axes(rank, contracting, batch)
    return (*batch, *kind[: kind.index(ragged)])


def _check_axis(axis: int, what: str, side: str, aval: ShapedArray) -> None:
    if not 0 <= axis < aval.ndim:
        raise ShapeError(
            f"ragged_dot_general: {what} {axis} is no axis of {side} {aval.str_short()}; axes count from 0."
        )


@rules.define(abstract_eval, ragged_dot_general_p)
def _ragged_avals(
    lhs: ShapedArray,
    rhs: ShapedArray,
    group_sizes: ShapedArray,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    **params: Any,
) -> list[ShapedArray]:
    numbers = ragged_dot_dimension_numbers
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise ShapeError(
            f"ragged_dot_general needs one lhs ragged dimension, got {numbers.lhs_ragged_dimensions}."
        )
    (ragged,), groups = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    _check_axis(ragged, "lhs ragged dimension", "lhs", lhs)
    if not dtypes.is_integer(group_sizes.dtype):
        raise DtypeError(
            f"ragged_dot_general needs integers as group_sizes, got {group_sizes.str_short()}."
        )
    if not group_sizes.ndim:
        raise ShapeError(
            "ragged_dot_general needs a size for each group, but group_sizes is a scalar."
        )
    count = group_sizes.shape[-1]
    expected = (*(lhs.shape[d] for d in _prefix(lhs.ndim, numbers)), count)
    if group_sizes.shape not in ((count,), expected):
        raise ShapeError(
            f"ragged_dot_general needs group_sizes of shape {expected}, got {group_sizes.shape}."
        )
    (contracting, rhs_contracting), (batch, rhs_batch) = numbers.dot_dimension_numbers
    kept = ragged not in contracting and ragged not in batch
    if len(groups) != kept:
        raise ShapeError(
            f"ragged_dot_general: as lhs is ragged along a {'free' if kept else 'contracting or batch'} dimension, "
            f"rhs needs {'one group dimension' if kept else 'no group dimensions'}, got {groups}."
        )
    dot_numbers = numbers.dot_dimension_numbers
    if kept:
        (group,) = groups
        _check_axis(group, "rhs group dimension", "rhs", rhs)
        if group in rhs_batch or group in rhs_contracting:
            raise ShapeError(
                f"ragged_dot_general: rhs group dimension {group} is a contracting or batch dimension too. Name "
                "another one."
            )
        if rhs.shape[group] != count:
            raise ShapeError(
                f"ragged_dot_general: group_sizes has {count} groups, rhs {rhs.shape[group]}."
            )
        rhs = rhs.update(shape=rhs.shape[:group] + rhs.shape[group + 1 :])
        pairs = (contracting, rhs_contracting), (batch, rhs_batch)
        a, b = ((own, tuple(d - (d > group) for d in other)) for own, other in pairs)
        dot_numbers = a, b
    out: ShapedArray = dot_general_aval(lhs, rhs, dimension_numbers=dot_numbers, **params)
    shape = (count, *out.shape) if ragged in contracting else out.shape
    return [ShapedArray(shape, out.dtype)]


def _by_group(x: Any, axis: int, prefix: Axes, group_sizes: Any) -> Any:
    """For each group the array with zeros outside of it: ``[...] -> [g, ...]``.

    Args:
        x: the array.
        axis: the ragged axis.
        prefix: the axes that match the leading axes of ``group_sizes``.
        group_sizes: ``[prefix..., g]``.
    """
    last = len(prefix)
    shape = (aval_of(group_sizes).shape[last], *aval_of(x).shape)
    order = sorted(range(last), key=prefix.__getitem__)
    ends = cumsum(group_sizes, axis=last)

    def aligned(v: Any) -> Any:
        places = (0, *(prefix[i] + 1 for i in order))
        return broadcast_in_dim(transpose(v, (last, *order)), shape, places)

    place = broadcasted_iota(INT32, shape, axis + 1)
    inside = bitwise_and(le(aligned(sub(ends, group_sizes)), place), lt(place, aligned(ends)))
    copies = broadcast_in_dim(x, shape, range(1, len(shape)))
    return select(inside, copies, full_like(copies, 0))


def _next(axes: Sequence[int]) -> Axes:
    return tuple(d + 1 for d in axes)


def _ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: Any,
    preferred_element_type: Any,
) -> list[Any]:
    numbers = ragged_dot_dimension_numbers
    (contracting, rhs_contracting), (batch, rhs_batch) = numbers.dot_dimension_numbers
    (ragged,) = numbers.lhs_ragged_dimensions
    if ragged in batch:
        dot_numbers = numbers.dot_dimension_numbers
        return [dot_general(lhs, rhs, dot_numbers, precision, preferred_element_type)]
    prefix = _prefix(aval_of(lhs).ndim, numbers)
    sizes = convert_element_type(group_sizes, np.int32)
    if aval_of(sizes).ndim == 1:
        sizes = broadcast(sizes, [aval_of(lhs).shape[d] for d in prefix])
    left = _by_group(lhs, ragged, prefix, sizes)
    if ragged not in contracting:
        a = (0, *_next(contracting)), (*numbers.rhs_group_dimensions, *rhs_contracting)
        return [
            dot_general(
                left, rhs, (a, (_next(batch), rhs_batch)), precision, preferred_element_type
            )
        ]
    place = contracting.index(ragged)
    right = _by_group(rhs, rhs_contracting[place], (*rhs_batch, *rhs_contracting[:place]), sizes)
    pairs = (
        (_next(contracting), _next(rhs_contracting)),
        ((0, *_next(batch)), (0, *_next(rhs_batch))),
    )
    return [dot_general(left, right, pairs, precision, preferred_element_type)]


compound(rules, ragged_dot_general_p, _ragged_dot_general)
