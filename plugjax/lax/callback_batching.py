"""How ``vmap`` batches a call that it cannot look into: the methods of ``pure_callback`` and ``ffi_call``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend.core import ShapedArray, as_array, broadcast_axis, moveaxis
from plugjax.extend.transforms import Axis
from plugjax.lax.control_flow import scan

VMAP_METHODS = (
    "sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized", None,
)  # fmt: skip

# (operands, avals of the results, for each operand whether it has a batch axis in front) -> results.
Call = Callable[[Sequence[Any], tuple[Any, ...], Sequence[bool]], Sequence[Any]]


def check_vmap_method(who: str, method: Any) -> None:
    """Refuse an unknown method.

    Raises:
        ValueError: it is none of ``VMAP_METHODS``.
    """
    if method not in VMAP_METHODS:
        raise ValueError(
            f"{who}: vmap_method must be one of the allowed methods {list(VMAP_METHODS)}, got {method!r}."
        )


def batched_call(
    who: str,
    method: str | None,
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    result_avals: tuple[ShapedArray, ...],
    call: Call,
) -> tuple[list[Any], list[int]]:
    """The results of a call for all instances, with the batch axis in front.

    Args:
        who: the primitive, for messages.
        method: one of ``VMAP_METHODS``.
        axis: the axis that is mapped.
        args: the operands.
        dims: their batch axes.
        result_avals: avals of the results of one instance.
        call: makes one call.

    Raises:
        NotImplementedError: the method is ``None``.
    """
    if method is None and axis.of_mesh:
        # The instances are devices of a mesh, each of which calls.
        method = "sequential"
    if method is None:
        raise NotImplementedError(
            f"{who} has vmap_method=None: vmap is only supported for the {who} primitive when vmap_method is one of "
            "'sequential', 'sequential_unrolled', 'expand_dims', 'broadcast_all' or 'legacy_vectorized'. Pass one."
        )
    moved = [x if d is None else moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    zeros = [0] * len(result_avals)
    if method.startswith("sequential"):
        alone = [False] * len(moved)
        mapped, merge = mapped_operands(moved, dims)
        unroll = method == "sequential_unrolled"
        _, outs = scan(
            lambda _, xs: ((), list(call(merge(xs), result_avals, alone))),
            (), mapped, length=axis.size, unroll=unroll,
        )  # fmt: skip
        return outs, zeros
    if method != "legacy_vectorized":
        size = axis.size if method == "broadcast_all" else 1
        moved = [
            broadcast_axis(x, size, 0, x.aval.shape) if d is None else x
            for x, d in zip(map(as_array, moved), dims, strict=True)
        ]
        in_front = [True] * len(moved)
    else:
        in_front = [d is not None for d in dims]
    batched = tuple(a.update(shape=(axis.size, *a.shape)) for a in result_avals)
    return list(call(moved, batched, in_front)), zeros


def mapped_operands(
    args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[list[Any], Callable[[Sequence[Any]], list[Any]]]:
    """The batched arguments, and the way all arguments of an instance are made from slices of them."""

    def merge(slices: Sequence[Any]) -> list[Any]:
        given = iter(slices)
        return [x if d is None else next(given) for x, d in zip(args, dims, strict=True)]

    return [x for x, d in zip(args, dims, strict=True) if d is not None], merge
