"""References under ``vmap``: one that is made within refers to an array for each instance.

A reference from outside is one for all instances: it can be read, and writing to it is an error, since each would write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import aval_of
from plugjax.extend.rules import RuleSet, batching_rule
from plugjax.extend.transforms import Axis, batch_flat, materialize
from plugjax.state.aval import AbstractRef
from plugjax.state.indices import StaticIndex, read, written
from plugjax.state.primitives import (
    addupdate_p,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
    zero_ref_p,
)

rules = RuleSet(__name__)

_Batched = tuple[list[Any], list[int | None]]


@rules.define(batching_rule, new_ref_p)
def _new_ref(axis: Axis, args: Sequence[Any], dims: Sequence[Any], **params: Any) -> _Batched:
    init = materialize(args[0], dims[0], axis) if dims[0] is None else args[0]
    return new_ref_p.bind(init, **params), [dims[0] or 0]


@rules.define(batching_rule, empty_ref_p)
def _empty_ref(
    axis: Axis, args: Sequence[Any], dims: Sequence[Any], *, ty: Any, memory_space: Any
) -> _Batched:
    whole = ty.update(shape=(axis.size, *ty.shape))
    return empty_ref_p.bind(ty=whole, memory_space=memory_space), [0]


@rules.define(batching_rule, zero_ref_p)
def _zero_ref(
    axis: Axis, args: Sequence[Any], dims: Sequence[Any], *, aval: AbstractRef
) -> _Batched:
    return zero_ref_p.bind(aval=aval.update(shape=(axis.size, *aval.shape))), [0]


@rules.define(batching_rule, freeze_p)
def _freeze(axis: Axis, args: Sequence[Any], dims: Sequence[Any]) -> _Batched:
    return freeze_p.bind(args[0]), [dims[0]]


@rules.define(batching_rule, free_ref_p)
def _free_ref(axis: Axis, args: Sequence[Any], dims: Sequence[Any]) -> _Batched:
    free_ref_p.bind(args[0])
    return [], []


def _whole(ref: Any) -> Any:
    return get_p.bind(ref, index=())[0]


@rules.define(batching_rule, get_p)
def _get(axis: Axis, args: Sequence[Any], dims: Sequence[Any], *, index: StaticIndex) -> _Batched:
    if all(d is None for d in dims):
        return get_p.bind(*args, index=index), [None]
    values = [_whole(args[0]), *args[1:]]
    return batch_flat(lambda x, *operands: [read(x, index, operands)], axis, values, dims)


def _check_written(who: str, ref: Any, dim: int | None) -> None:
    if dim is None:
        raise ValueError(
            f"performing {who} operation with vmapped value on an unbatched array reference of type {aval_of(ref)}: each "
            "instance would write. Move the reference to be an argument of the function under vmap, or make it within."
        )


@rules.define(batching_rule, swap_p)
def _swap(axis: Axis, args: Sequence[Any], dims: Sequence[Any], *, index: StaticIndex) -> _Batched:
    _check_written("a set/swap", args[0], dims[0])

    def swapped(x: Any, new: Any, *operands: Any) -> list[Any]:
        return [read(x, index, operands), written(x, index, operands, new, add=False)]

    (old, whole), (old_dim, dim) = batch_flat(swapped, axis, [_whole(args[0]), *args[1:]], dims)
    swap_p.bind(args[0], materialize(whole, dim, axis, dims[0]), index=())
    return [old], [old_dim]


@rules.define(batching_rule, addupdate_p)
def _addupdate(
    axis: Axis, args: Sequence[Any], dims: Sequence[Any], *, index: StaticIndex
) -> _Batched:
    _check_written("an addupdate", args[0], dims[0])

    def added(x: Any, new: Any, *operands: Any) -> list[Any]:
        return [written(x, index, operands, new, add=True)]

    (whole,), (dim,) = batch_flat(added, axis, [_whole(args[0]), *args[1:]], dims)
    swap_p.bind(args[0], materialize(whole, dim, axis, dims[0]), index=())
    return [], []
