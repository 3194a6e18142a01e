"""Sorting along an axis, and the largest elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import Array, ArrayLike, Primitive, ShapedArray, Zero, aval_of, moveaxis
from plugjax.extend.errors import DtypeError, ShapeError
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, jvp_rule, transpose_rule
from plugjax.extend.transforms import Axis, materialize
from plugjax.lax import axes
from plugjax.lax.axes import canonical_axis
from plugjax.lax.gather_scatter import gather_along_axis
from plugjax.lax.shape import broadcasted_iota

rules = RuleSet(__name__)

sort_p = Primitive("sort", multiple_results=True)
top_k_p = Primitive("top_k", multiple_results=True)


@overload
def sort(
    operand: Sequence[ArrayLike], dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> tuple[Array, ...]: ...


@overload
def sort(
    operand: ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> Array: ...


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Elements in ascending order along an axis.

    Shapes:
        operand: ``[...]``, or a sequence of arrays of one shape, which are put in the order of the
            first ones.

    Args:
        operand: an array, or a sequence.
        dimension: the axis.
        is_stable: whether equal elements keep their order.
        num_keys: number of operands that are compared, the first one first.

    Returns:
        An array, or for a sequence a tuple. nan comes last; -0.0 and 0.0 are equal; complex numbers are ordered by real
        part, then by imaginary part.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.sort(jnp.array([3, 1, 2]))
        Array([1, 2, 3], dtype=int32)
    """
    several = isinstance(operand, Sequence)
    operands = list(operand) if several else [operand]
    if not operands:
        raise TypeError("sort: there is no operand. Pass one or more.")
    if not hasattr(num_keys, "__index__") or not 1 <= num_keys <= len(operands):
        raise ValueError(
            f"sort: {num_keys=} of {len(operands)} operands. Give 1 to {len(operands)}."
        )
    found = sort_p.bind(
        *operands,
        dimension=canonical_axis(dimension, aval_of(operands[0]).ndim),
        is_stable=bool(is_stable),
        num_keys=int(num_keys),
    )
    return tuple(found) if several else found[0]


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """``keys`` in ascending order along an axis, and ``values`` in the same order.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.sort_key_val(jnp.array([3, 1, 2]), jnp.array([30, 10, 20]))[1]
        Array([10, 20, 30], dtype=int32)
    """
    found = sort((keys, values), dimension, is_stable)
    return found[0], found[1]


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> list[Array]:
    """The ``k`` largest elements along an axis, largest first, and their indices as int32.

    Of equal elements the one with the lower index comes first. A positive nan counts as the
    largest value, a negative one as the least.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.top_k(jnp.array([3, 1, 2]), 2)
        [Array([3, 2], dtype=int32), Array([0, 2], dtype=int32)]
    """
    rank = aval_of(operand).ndim
    place = canonical_axis(axis, rank)
    if place == rank - 1:
        found: list[Any] = top_k_p.bind(operand, k=axes.index(k))
        return found
    found = top_k_p.bind(moveaxis(operand, place, rank - 1), k=axes.index(k))
    return [moveaxis(x, rank - 1, place) for x in found]


@rules.define(abstract_eval, sort_p)
def _sort_avals(
    *operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int
) -> list[ShapedArray]:
    first = operands[0]
    if any(x.shape != first.shape for x in operands):
        shapes = ", ".join(x.str_short() for x in operands)
        raise ShapeError(f"sort needs operands of equal shapes, got {shapes}.")
    if not 0 <= dimension < first.ndim:
        raise ValueError(f"sort: axis {dimension} is out of bounds for {first.str_short()}")
    if any(dtypes.is_extended(x.dtype) for x in operands):
        raise DtypeError("sort does not accept extended dtypes: they have no order.")
    return list(operands)


@rules.define(jvp_rule, sort_p)
def _sort_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, dimension: int, **params: Any
) -> tuple[Any, Any]:
    if all(type(t) is Zero for t in tangents):
        out = sort_p.bind(*primals, dimension=dimension, **params)
        return out, [Zero(aval_of(y).to_tangent_aval()) for y in out]
    # One more operand carries the original index of each element.
    places = broadcasted_iota(np.int32, aval_of(primals[0]).shape, dimension)
    *out, order = sort_p.bind(*primals, places, dimension=dimension, **params)
    return out, [t if type(t) is Zero else gather_along_axis(t, order, dimension) for t in tangents]


@rules.define(batching_rule, sort_p)
def _sort_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, dimension: int, **params: Any
) -> tuple[list[Any], list[int]]:
    bdim = next(d for d in dims if d is not None)
    operands = [materialize(x, d, axis, bdim) for x, d in zip(args, dims, strict=True)]
    out = sort_p.bind(*operands, dimension=dimension + (dimension >= bdim), **params)
    return out, [bdim] * len(out)


@rules.define(abstract_eval, top_k_p)
def _top_k_avals(x: ShapedArray, *, k: int) -> list[ShapedArray]:
    if k < 0:
        raise ValueError(f"top_k needs a nonnegative k, got k={k}.")
    if not x.shape:
        raise ValueError(f"top_k needs an operand of rank 1 or more, got {x.str_short()}.")
    if x.shape[-1] < k:
        raise ValueError(
            f"k argument to top_k must be no larger than the axis, got {k=} for {x.str_short()}."
        )
    if x.dtype.kind == "c" or dtypes.is_extended(x.dtype):
        raise ValueError(f"top_k: {x.dtype.name} values have no order.")
    shape = (*x.shape[:-1], k)
    return [x.update(shape=shape), x.update(shape=shape, dtype=np.int32)]


@rules.define(jvp_rule, top_k_p)
def _top_k_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, k: int) -> tuple[Any, Any]:
    values, indices = top_k_p.bind(*primals, k=k)
    values_dot: Any = Zero(aval_of(values).to_tangent_aval())
    if type(tangents[0]) is not Zero:
        values_dot = gather_along_axis(tangents[0], indices, aval_of(values).ndim - 1)
    return [values, indices], [values_dot, Zero(aval_of(indices).to_tangent_aval())]


@rules.define(batching_rule, top_k_p)
def _top_k_batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, k: int
) -> tuple[list[Any], list[int]]:
    return top_k_p.bind(moveaxis(args[0], dims[0], 0), k=k), [0, 0]


rules.absent(
    transpose_rule,
    sort_p,
    top_k_p,
    because="it is not linear; the derivative of its values is a gather",
)
