"""Slices of different lengths exchanged between all instances of a named axis.

Each of S instances holds K = S * p slices of its operand, p for each destination: slot k starts at
``input_offsets[k]``, has ``send_sizes[k]`` rows, and goes to instance ``k // p``, where it is written at row
``output_offsets[k]`` of the output; rows that are not written stay. The exchange is linear in operand and output. The
transpose sends slot by slot back, because slices may overlap; then cotangents are added. Overwritten rows have
cotangent 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import (
    Array,
    ArrayLike,
    Primitive,
    ShapedArray,
    Zero,
    as_array,
    aval_of,
    instantiate,
    zeros,
)
from plugjax.extend.dtypes import INT32
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    axis_names_rule,
    batching_rule,
    impl,
    jvp_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis, is_undefined_primal, materialize, named_axis_size
from plugjax.lax.arithmetic import add, max, mul, sub
from plugjax.lax.collectives import refuse_groups
from plugjax.lax.comparison import bitwise_and, gt, le, lt
from plugjax.lax.conversion import convert_element_type
from plugjax.lax.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from plugjax.lax.gather_scatter import gather, gather_along_axis
from plugjax.lax.parallel import all_gather, all_to_all, axis_index
from plugjax.lax.reduction import reduce_max, reduce_or, reduce_sum
from plugjax.lax.selection import select
from plugjax.lax.shape import (
    broadcast_in_dim,
    broadcasted_iota,
    expand_dims,
    full_like,
    iota,
    reshape,
    transpose,
)
from plugjax.lax.slicing import dynamic_index_in_dim

rules = RuleSet(__name__)

ragged_all_to_all_p = Primitive("ragged_all_to_all")

rules.absent(
    impl,
    ragged_all_to_all_p,
    because="an axis name means the instances of a vmap or the devices of a mesh: one value is not enough",
)


def ragged_all_to_all(
    operand: ArrayLike,
    output: ArrayLike,
    input_offsets: ArrayLike,
    send_sizes: ArrayLike,
    output_offsets: ArrayLike,
    recv_sizes: ArrayLike,
    *,
    axis_name: Hashable,
    axis_index_groups: None = None,
) -> Array:
    """Send slices of rows to the instances of a named axis, and write the slices received.

    Shapes:
        operand: ``[n, ...]``; output: ``[m, ...]`` -> ``[m, ...]``.
        input_offsets, send_sizes, output_offsets, recv_sizes: ``[k]``, integer; k is divisible by the size of the axis.

    Args:
        operand: rows to send.
        output: rows to write over.
        input_offsets: where slices start; the first ones go to instance 0, and so on.
        send_sizes: numbers of their rows.
        output_offsets: where they are written at their destination.
        recv_sizes: numbers of rows received: the ``send_sizes`` of others.
        axis_name: name of the axis.
        axis_index_groups: not supported under ``vmap``.

    Raises:
        NameError: no axis of that name is bound.
        ValueError: offsets or sizes are not vectors of integers.

    Differs from JAX:
        It works under ``vmap``; and cotangents of rows that are sent several times are added.

    Example:
        >>> import numpy as np, plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> exchange = plugjax.vmap(lambda *xs: lax.ragged_all_to_all(*xs, axis_name="i"), axis_name="i")
        >>> exchange(
        ...     jnp.array([[1, 2, 2], [3, 4, 0]]), jnp.zeros((2, 4), int), np.array([[0, 1], [0, 1]]), np.array([[1, 2], [1, 1]]),
        ...     np.array([[0, 0], [1, 2]]), np.array([[1, 1], [2, 1]]),
        ... )
        Array([[1, 3, 0, 0],
               [2, 2, 4, 0]], dtype=int32)
    """
    names = tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    if len(names) != 1:
        raise NotImplementedError(
            f"lax.ragged_all_to_all works along one axis name, got {axis_name}."
        )
    named_axis_size(names[0])
    refuse_groups(axis_index_groups)
    given = (operand, output, input_offsets, send_sizes, output_offsets, recv_sizes)
    operands = [as_array(x, "ragged_all_to_all") for x in given]
    # Batching over the named axis needs no abstract evaluation.
    _aval(*(x.aval for x in operands), axis_name=names)
    return ragged_all_to_all_p.bind(*operands, axis_name=names)


@rules.define(axis_names_rule, ragged_all_to_all_p)
def _names(*, axis_name: tuple[Any, ...]) -> tuple[Any, ...]:
    return axis_name


_ARGUMENTS = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")


@rules.define(abstract_eval, ragged_all_to_all_p)
def _aval(
    operand: ShapedArray, output: ShapedArray, *slots: ShapedArray, axis_name: tuple[Any, ...]
) -> ShapedArray:
    size = named_axis_size(axis_name[0])
    for name, aval in zip(_ARGUMENTS, slots, strict=True):
        if not dtypes.is_integer(aval.dtype):
            raise ValueError(f"ragged_all_to_all needs integers as {name}, got {aval.str_short()}.")
        if aval.ndim != 1 or not aval.size:
            raise ValueError(
                f"ragged_all_to_all needs a vector that is not empty as {name}, got shape {aval.shape}."
            )
    if len({aval.shape for aval in slots}) != 1 or slots[0].size % size:
        raise ValueError(
            f"ragged_all_to_all: offsets and sizes must have one length, divisible by the size of the axis {size}; got "
            f"{[aval.shape for aval in slots]}."
        )
    if (operand.shape[1:], operand.dtype) != (output.shape[1:], output.dtype):
        raise ValueError(
            f"ragged_all_to_all: rows of operand {operand.str_short()} and output {output.str_short()} differ."
        )
    return output.strip_weak_type()


@rules.define(jvp_rule, ragged_all_to_all_p)
def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    y = ragged_all_to_all_p.bind(*primals, **params)
    if type(tangents[0]) is Zero and type(tangents[1]) is Zero:
        return y, Zero(aval_of(y).to_tangent_aval())
    dots = [instantiate(t) for t in tangents[:2]]
    return y, ragged_all_to_all_p.bind(*dots, *primals[2:], **params)


@rules.define(transpose_rule, ragged_all_to_all_p)
def _transpose(
    bar: Any,
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: tuple[Any, ...],
) -> list[Any]:
    def as_seen_by_receivers(v: Any) -> Any:
        return all_to_all(v, axis_name, 0, 0, tiled=True)

    slots = aval_of(input_offsets).shape[0]
    written = as_seen_by_receivers(output_offsets)
    operand_bar = output_bar = None
    if is_undefined_primal(operand):
        rows, *rest = operand.aval.shape
        # Each slot returns to its own rows.
        own = mul(iota(np.int32, slots), np.int32(rows))
        places = as_seen_by_receivers(add(convert_element_type(input_offsets, INT32), own))
        none = zeros(ShapedArray((slots * rows, *rest), operand.aval.dtype))
        returned = ragged_all_to_all_p.bind(
            bar, none, written, recv_sizes, places, send_sizes, axis_name=axis_name
        )
        operand_bar = reduce_sum(reshape(returned, (slots, rows, *rest)), (0,))
    if is_undefined_primal(output):
        shape = aval_of(bar).shape
        covered = reduce_or(_covers(written, recv_sizes, shape[0]), (1,))
        output_bar = select(_along_rows(covered, shape), full_like(bar, 0), bar)
    return [operand_bar, output_bar, None, None, None, None]


def _covers(starts: Any, sizes: Any, rows: int) -> Any:
    """Whether a slice covers a row: ``[..., k], [..., k] -> [..., rows, k]``."""
    lead = aval_of(starts).ndim - 1
    starts, sizes = (expand_dims(convert_element_type(v, INT32), (lead,)) for v in (starts, sizes))
    row = broadcasted_iota(np.int32, (*(1,) * lead, rows, 1), lead)
    return bitwise_and(le(starts, row), lt(row, add(starts, sizes)))


def _along_rows(flags: Any, shape: Sequence[int]) -> Any:
    return broadcast_in_dim(flags, shape, range(aval_of(flags).ndim))


@rules.define(batching_rule, ragged_all_to_all_p)
def _batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, axis_name: tuple[Any, ...]
) -> tuple[Any, int]:
    operand, output = (materialize(x, d, axis) for x, d in zip(args[:2], dims[:2], strict=True))
    if axis.name not in axis_name:
        return _merged(axis, operand, output, args[2:], dims[2:], axis_name), 0
    slots = [materialize(x, d, axis) for x, d in zip(args[2:], dims[2:], strict=True)]
    return _exchanged(axis.size, operand, output, *slots[:3]), 0


def _merged(
    axis: Axis,
    operand: Any,
    output: Any,
    slots: Sequence[Any],
    dims: Sequence[int | None],
    axis_name: tuple[Any, ...],
) -> Any:
    """Instances of another axis, with their rows concatenated: each slot becomes as many slots."""
    shape, rows = aval_of(output).shape, aval_of(operand).shape[1]
    columns = [
        convert_element_type(materialize(v, d, axis, 1), INT32)
        for v, d in zip(slots, dims, strict=True)
    ]
    for place, step in ((0, rows), (2, shape[1])):
        shift = mul(broadcasted_iota(np.int32, (1, axis.size), 1), np.int32(step))
        columns[place] = add(columns[place], shift)
    flat = [
        reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:])) for x in (operand, output, *columns)
    ]
    return reshape(ragged_all_to_all_p.bind(*flat, axis_name=axis_name), shape)


def _exchanged(
    size: int, operand: Any, output: Any, input_offsets: Any, send_sizes: Any, output_offsets: Any
) -> Any:
    """The exchange in ordinary operations, with the instances as leading axis."""
    slots = aval_of(input_offsets).shape[1]

    def by_destination(v: Any) -> Any:
        parts = reshape(convert_element_type(v, INT32), (size, size, slots // size))
        return reshape(transpose(parts, (1, 0, 2)), (size, slots))

    starts, sizes, offsets = map(by_destination, (output_offsets, send_sizes, input_offsets))
    return _received(operand, output, starts, sizes, offsets)


def exchange_of_one_device(
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: tuple[Any, ...],
) -> Any:
    """The exchange as the device of a mesh sees it: it gathers all operands, and takes what is for itself."""
    del recv_sizes
    (name,) = axis_name
    size, slots = named_axis_size(name), aval_of(input_offsets).shape[0]

    def for_this_device(v: Any) -> Any:
        every = all_gather(convert_element_type(v, INT32), name)
        parts = reshape(every, (size, size, slots // size))
        return reshape(dynamic_index_in_dim(parts, axis_index(name), 1), (1, slots))

    starts, sizes, offsets = map(for_this_device, (output_offsets, send_sizes, input_offsets))
    every = all_gather(operand, name)
    found = _received(every, expand_dims(output, (0,)), starts, sizes, offsets)
    return reshape(found, aval_of(output).shape)


def _received(operand: Any, output: Any, starts: Any, sizes: Any, offsets: Any) -> Any:
    """What destinations receive.

    Shapes:
        operand: ``[size, rows, ...]``, of all sources.
        output: ``[destinations, n, ...]`` -> the same.
        starts, sizes, offsets: ``[destinations, slots]``, the slots in the order of the sources: row of the output, number of rows,
            and row of the operand.
    """
    (size, rows, *rest), shape = aval_of(operand).shape, aval_of(output).shape
    count, slots = aval_of(starts).shape
    if not rows or not shape[1]:
        return output
    source = np.repeat(np.arange(size, dtype=np.int32) * rows, slots // size)
    covers = _covers(starts, sizes, shape[1])
    # Of several slices that write a row, the last one; 0 if there is none.
    number = broadcasted_iota(np.int32, aval_of(covers).shape, 2)
    number = select(covers, add(number, np.int32(1)), full_like(number, 0))
    last = reduce_max(number, (2,))
    # Offset from a row of the output to its source row, counted over all instances.
    origin = broadcast_in_dim(as_array(source), (count, slots), (1,))
    shift = sub(add(offsets, origin), starts)
    chosen = gather_along_axis(shift, max(sub(last, np.int32(1)), np.int32(0)), 1)
    places = add(chosen, broadcasted_iota(np.int32, shape[:2], 1))
    numbers = GatherDimensionNumbers(tuple(range(2, len(shape))), (0,), (0,))
    taken = gather(
        reshape(operand, (size * rows, *rest)),
        expand_dims(places, (2,)),
        numbers,
        (1, *rest),
        mode=GatherScatterMode.CLIP,
    )
    return select(_along_rows(gt(last, np.int32(0)), shape), taken, output)
