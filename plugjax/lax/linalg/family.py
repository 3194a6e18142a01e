"""Common rules of primitives of matrices: operands with common leading axes, and batching along one more.

A primitive gives the last axes of its results; ranks, dtypes and leading axes are checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend.core import Primitive, ShapedArray, aval_of
from plugjax.extend.dtypes import DType
from plugjax.extend.errors import DtypeError, ShapeError
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, jvp_rule, transpose_rule
from plugjax.extend.transforms import Axis, materialize
from plugjax.lax.families import INEXACT, DtypeSet, check_same_dtypes

Shapes = Sequence[tuple[int, ...]]


def matrix_primitive(
    rules: RuleSet,
    primitive: Primitive,
    ranks: Sequence[int],
    shapes: Callable[..., Shapes],
    *,
    dtypes: Callable[..., Sequence[DType]] | None = None,
    accepts: Sequence[DtypeSet] | None = None,
    batched: bool = True,
    own_batching: bool = False,
) -> None:
    """Abstract evaluation and batching of a primitive of matrices.

    Args:
        rules: the rule set that gets them.
        primitive: its operands have equal numbers of leading axes.
        ranks: ranks of the operands, without leading axes.
        shapes: from the operands' last axes and the parameters, the results' last axes.
        dtypes: from the first operand's dtype and the parameters, the results' dtypes; by default the operand's.
        accepts: dtypes of the operands; by default floating or complex, all equal.
        batched: whether operands may have leading axes.
        own_batching: whether the primitive's file defines the batching rule.
    """
    name = primitive.name

    @rules.define(abstract_eval, primitive)
    def _avals(*avals: ShapedArray, **params: Any) -> Any:
        batch = _leading_axes(name, avals, ranks, batched)
        found = shapes(
            *(a.shape[a.ndim - r :] for a, r in zip(avals, ranks, strict=True)), **params
        )
        if accepts is None or len(set(accepts)) == 1:
            check_same_dtypes(name, avals)
        for aval, accepted in zip(avals, accepts or [INEXACT] * len(avals), strict=True):
            if aval.dtype not in accepted:
                raise DtypeError(
                    f"{name} does not accept dtype {aval.dtype.name}, only {accepted.words}."
                )
        kinds = dtypes(avals[0].dtype, **params) if dtypes else [avals[0].dtype] * len(found)
        weak = all(a.weak_type for a in avals)
        outs = [
            ShapedArray((*batch, *shape), dtype, weak)
            for shape, dtype in zip(found, kinds, strict=True)
        ]
        return outs if primitive.multiple_results else outs[0]

    if batched and not own_batching:
        rules.define(batching_rule, primitive)(_batching(primitive))


def _leading_axes(
    name: str, avals: Sequence[ShapedArray], ranks: Sequence[int], batched: bool
) -> tuple[int, ...]:
    leads = []
    for position, (aval, rank) in enumerate(zip(avals, ranks, strict=True)):
        if aval.ndim < rank or (aval.ndim > rank and not batched):
            which = "at least" if batched else "exactly"
            raise ShapeError(
                f"{name}: input {position} is {aval.str_short()}, but its rank must be {which} {rank}."
            )
        leads.append(aval.shape[: aval.ndim - rank])
    if any(lead != leads[0] for lead in leads):
        described = ", ".join(a.str_short() for a in avals)
        raise ShapeError(f"{name}: leading axes of the inputs differ: {described}.")
    return leads[0]


def _batching(primitive: Primitive) -> Callable[..., tuple[Any, Any]]:
    def rule(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        operands = [materialize(x, d, axis) for x, d in zip(args, dims, strict=True)]
        out = primitive.bind(*operands, **params)
        return out, ([0] * len(out) if primitive.multiple_results else 0)

    return rule


def check_square(what: str, shape: tuple[int, ...]) -> None:
    """Raise unless a matrix is square.

    Raises:
        ValueError: the matrix is not square.
    """
    if shape[0] != shape[1]:
        raise ValueError(f"{what} needs square matrices, got shape {shape}.")


def not_linear(rules: RuleSet, *primitives: Primitive) -> None:
    """Refuse transposition: the derivative is written in other primitives."""
    rules.absent(
        transpose_rule, *primitives, because="it is not linear; its derivative is written in others"
    )


def no_derivative(rules: RuleSet, *primitives: Primitive) -> None:
    """Refuse derivatives, as JAX does."""
    for kind in (jvp_rule, transpose_rule):
        rules.absent(kind, *primitives, because="no derivative is known for it, as in JAX")


def core_shape(x: Any) -> tuple[int, ...]:
    """The sizes of the last two axes."""
    return aval_of(x).shape[-2:]
