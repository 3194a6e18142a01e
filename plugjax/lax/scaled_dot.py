"""Dot products of operands in few bits with scales, one for each block of a contracted axis."""

from __future__ import annotations

from typing import Any

from plugjax.extend import dtypes
from plugjax.extend.core import Array, ArrayLike, ShapedArray, as_array, aval_of
from plugjax.extend.dtypes import FLOAT8, DType, DTypeLike, bfloat16
from plugjax.extend.errors import ShapeError
from plugjax.extend.rules import RuleSet, abstract_eval
from plugjax.lax.arithmetic import mul
from plugjax.lax.axes import inserted
from plugjax.lax.compound import compound, new_compound
from plugjax.lax.conversion import convert_element_type
from plugjax.lax.dot import Axes, CanonicalNumbers, DotDimensionNumbers, dot_general, free_axes
from plugjax.lax.shape import broadcast_in_dim, full, reshape

rules = RuleSet(__name__)

scaled_dot_p = new_compound("scaled_dot")

_SCALE = next(d for d in FLOAT8 if d.name == "float8_e8m0fnu")


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """``dot_general`` of ``lhs * lhs_scale`` and ``rhs * rhs_scale``, multiplied in bfloat16.

    Shapes:
        lhs_scale, rhs_scale: as their operand, but for contracted axes, which are 2 or more times shorter.

    Args:
        lhs: one operand.
        rhs: the other.
        lhs_scale: scales of blocks along contracted axes; 1 by default.
        rhs_scale: of ``rhs``.
        dimension_numbers: as of ``dot_general``; products of matrices over leading batch axes by default.
        preferred_element_type: dtype of the result, bfloat16 by default.

    Raises:
        TypeError: shapes do not fit.

    Differs from JAX:
        It has a derivative.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> x, s = jnp.ones((1, 4), jnp.float8_e4m3fn), jnp.array([[1, 2]], jnp.float8_e8m0fnu)
        >>> lax.scaled_dot(x, x.T, lhs_scale=s)
        Array([[6]], dtype=bfloat16)
    """
    left, right = as_array(lhs, "scaled_dot"), as_array(rhs, "scaled_dot")
    rank = left.aval.ndim
    if dimension_numbers is None:
        if rank < 2:
            raise TypeError("scaled_dot needs operands of rank 2 or more.")
        batch = tuple(range(rank - 2))
        dimension_numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    contracting, together = (tuple(map(tuple, pair)) for pair in dimension_numbers)
    scales = [
        _ones(x.aval, axes) if scale is None else as_array(scale, "scaled_dot")
        for x, scale, axes in zip((left, right), (lhs_scale, rhs_scale), contracting, strict=True)
    ]
    (found,) = scaled_dot_p.bind(
        left,
        right,
        *scales,
        dimension_numbers=(contracting, together),
        preferred_element_type=bfloat16
        if preferred_element_type is None
        else dtypes.canonicalize(preferred_element_type),
    )
    return found


def _ones(aval: ShapedArray, contracting: Axes) -> Any:
    return full([1 if d in contracting else n for d, n in enumerate(aval.shape)], 1, _SCALE)


def _check_scale(side: str, x: ShapedArray, scale: ShapedArray, contracting: Axes) -> None:
    for d, (size, count) in enumerate(zip(x.shape, scale.shape, strict=True)):
        if d not in contracting:
            if size != count:
                raise ShapeError(
                    f"scaled_dot: axis {d} has size {size} in {side} and {count} in its scale. Only contracting axes "
                    "may differ."
                )
        elif not count or size % count:
            raise ShapeError(
                f"scaled_dot: contracting axis {d} of {side} has size {size}, which {count}, its size in the scale, "
                "does not divide."
            )
        elif size < 2 * count:
            raise ShapeError(
                f"scaled_dot: a scale along contracting axis {d} of {side} covers {size // count} element, and must "
                "cover 2 or more."
            )


@rules.define(abstract_eval, scaled_dot_p)
def _scaled_dot_avals(
    lhs: ShapedArray,
    rhs: ShapedArray,
    lhs_scale: ShapedArray,
    rhs_scale: ShapedArray,
    *,
    dimension_numbers: CanonicalNumbers,
    preferred_element_type: DType,
) -> list[ShapedArray]:
    operands = (lhs, rhs, lhs_scale, rhs_scale)
    if len({a.ndim for a in operands}) != 1:
        described = ", ".join(a.str_short() for a in operands)
        raise ShapeError(f"scaled_dot needs operands and scales of one rank, got {described}.")
    contracting, batch = dimension_numbers
    for what, pair in (("contracting", contracting), ("batch", batch)):
        if len(pair[0]) != len(pair[1]):
            raise ShapeError(
                f"scaled_dot needs as many {what} axes in lhs as in rhs, got {len(pair[0])} and {len(pair[1])}."
            )
        for i, j in zip(*pair, strict=True):
            if lhs.shape[i] != rhs.shape[j]:
                raise ShapeError(
                    f"scaled_dot: {what} axes differ: lhs axis {i} has size {lhs.shape[i]}, rhs axis {j} has size "
                    f"{rhs.shape[j]}."
                )
    _check_scale("LHS", lhs, lhs_scale, contracting[0])
    _check_scale("RHS", rhs, rhs_scale, contracting[1])
    shape = (
        *(lhs.shape[d] for d in batch[0]),
        *(lhs.shape[d] for d in free_axes(lhs.ndim, contracting[0], batch[0])),
        *(rhs.shape[d] for d in free_axes(rhs.ndim, contracting[1], batch[1])),
    )
    return [ShapedArray(shape, preferred_element_type)]


def _scaled(x: Any, scale: Any, contracting: Axes) -> Any:
    sizes = aval_of(x).shape
    factor = convert_element_type(scale, bfloat16)
    for d in contracting:
        shape = aval_of(factor).shape
        # The ratio is 1 for axes of size 0 only.
        blocks = inserted(shape, d + 1, sizes[d] // shape[d] if shape[d] else 1)
        kept = [i for i in range(len(blocks)) if i != d + 1]
        spread = broadcast_in_dim(factor, blocks, kept)
        factor = reshape(spread, (*shape[:d], sizes[d], *shape[d + 1 :]))
    return mul(convert_element_type(x, bfloat16), factor)


def _scaled_dot(
    lhs: Any,
    rhs: Any,
    lhs_scale: Any,
    rhs_scale: Any,
    *,
    dimension_numbers: CanonicalNumbers,
    preferred_element_type: DType,
) -> list[Any]:
    (left, right), _ = dimension_numbers
    x, y = _scaled(lhs, lhs_scale, left), _scaled(rhs, rhs_scale, right)
    return [dot_general(x, y, dimension_numbers, None, preferred_element_type)]


compound(rules, scaled_dot_p, _scaled_dot)
