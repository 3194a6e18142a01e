"""Batching of primitives that a program defines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend.calls import Definitions
from plugjax.extend.core import Primitive, aval_of, broadcast_axis, moveaxis, reshape_p
from plugjax.extend.rules import batching_rule
from plugjax.extend.transforms import Axis, register_vmappable, show_only

Rule = Callable[..., Any]

# The place of the batch axis of an operand without one.
not_mapped = None


def _adopt(rule: Rule) -> Rule:
    return lambda axis, args, dims, **params: rule(args, tuple(dims), **params)


def _present(rule: Rule) -> Rule:
    def call(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        sizes = {aval_of(x).shape[d] for x, d in zip(args, dims, strict=True) if d is not None}
        return rule(Axis(sizes.pop()), args, dims, **params)

    return call


# Rules ``(args, dims, **params) -> (result, place of its batch axis)``.
primitive_batchers = Definitions(batching_rule, _adopt, _present)
# Rules ``(axis, args, dims, **params)``; ``axis`` has a size and perhaps a name.
fancy_primitive_batchers = Definitions(batching_rule)


def _adopt_by_name(rule: Rule) -> Rule:
    return lambda axis, args, dims, **params: rule(
        axis.size, axis.name, None, args, tuple(dims), **params
    )


# Rules ``(axis size, axis name, None, args, dims, **params)``; JAX's older form.
axis_primitive_batchers = Definitions(batching_rule, _adopt_by_name)


def unregister_vmappable(data_type: type[Any]) -> None:
    """Accepted as in JAX 0.10.2, where a class stays registered until it is registered anew."""


def broadcast(x: Any, size: int, axis: int) -> Any:
    """Repeat ``x`` along a new axis."""
    return broadcast_axis(x, size, axis, aval_of(x).shape)


def bdim_at_front(x: Any, bdim: int | None, size: int) -> Any:
    """``x`` with its batch axis in front; repeated if it has none."""
    return broadcast(x, size, 0) if bdim is None else moveaxis(x, bdim, 0)


def defvectorized(primitive: Primitive) -> None:
    """Say that a primitive works elementwise on operands that all have the batch axis at one place."""

    def batch(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        if len(set(dims)) != 1:
            raise ValueError(
                f"primitive '{primitive}' is vectorized over operands with batch axes at one place, got {tuple(dims)}. "
                "Use defbroadcasting."
            )
        out = primitive.bind(*args, **params)
        return out, [dims[0]] * len(out) if primitive.multiple_results else dims[0]

    primitive_batchers[primitive] = batch


def defbroadcasting(primitive: Primitive) -> None:
    """Say that a primitive works elementwise, with NumPy's broadcasting of axes of size 1."""

    def batch(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        ranks = [aval_of(x).ndim - (d is not None) for x, d in zip(args, dims, strict=True)]
        aligned = [
            _aligned(x, d, max(ranks) - rank) if d is not None else x
            for x, d, rank in zip(args, dims, ranks, strict=True)
        ]
        # A rank-0 operand without the axis broadcasts by itself; others get an axis of size 1.
        whole = [
            x if d is not None or not rank else broadcast(x, 1, 0)
            for x, d, rank in zip(aligned, dims, ranks, strict=True)
        ]
        out = primitive.bind(*whole, **params)
        return out, [0] * len(out) if primitive.multiple_results else 0

    primitive_batchers[primitive] = batch


def defreducer(primitive: Primitive) -> None:
    """Say that a primitive of one operand reduces along the axes in its parameter ``axes``."""

    def batch(
        args: Sequence[Any], dims: Sequence[int | None], *, axes: Sequence[int], **params: Any
    ) -> tuple[Any, Any]:
        (operand,), (bdim,) = args, dims
        assert bdim is not None
        moved = moveaxis(operand, bdim, 0)
        return primitive.bind(moved, axes=tuple(int(a) + 1 for a in axes), **params), 0

    primitive_batchers[primitive] = batch


def _aligned(x: Any, bdim: int, missing: int) -> Any:
    """The batch axis in front, followed by ``missing`` axes of size 1."""
    front = moveaxis(x, bdim, 0)
    if not missing:
        return front
    shape = aval_of(front).shape
    return reshape_p.bind(front, new_sizes=(shape[0], *(1,) * missing, *shape[1:]), dimensions=None)


__all__ = [
    "axis_primitive_batchers",
    "bdim_at_front",
    "broadcast",
    "defbroadcasting",
    "defreducer",
    "defvectorized",
    "fancy_primitive_batchers",
    "not_mapped",
    "primitive_batchers",
    "register_vmappable",
    "unregister_vmappable",
]

show_only(globals(), __all__)
