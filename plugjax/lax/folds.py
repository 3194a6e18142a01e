"""Reductions by any operation: ``reduce``, and the parts that windows share.

The operation f is a program on scalars, or on tuples of scalars if several arrays are reduced together. f must be
associative and commutative, and the initial value neutral; otherwise the result is undefined. The derivative is that of
folding by halves: f(f(a, b), f(c, d)), all pairs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.exceptions import AxisError

from plugjax.extend import dtypes, pytree
from plugjax.extend.core import (
    ClosedJaxpr,
    Primitive,
    ShapedArray,
    Tracer,
    as_array,
    aval_of,
    eval_closed,
    moveaxis,
)
from plugjax.extend.dtypes import DType
from plugjax.extend.errors import DtypeError, ShapeError
from plugjax.extend.meshes import ShardingLike
from plugjax.extend.rules import RuleSet, abstract_eval, batching_rule, jvp_rule
from plugjax.extend.transforms import (
    Axis,
    batch_jaxpr,
    behind_boundary,
    jvp_flat,
    materialize,
    stage,
)
from plugjax.lax.arithmetic import add, max, min, mul
from plugjax.lax.axes import static_ints
from plugjax.lax.comparison import bitwise_and, bitwise_or, bitwise_xor
from plugjax.lax.families import convert
from plugjax.lax.joining import concatenate
from plugjax.lax.placement import freely, laid_out
from plugjax.lax.reduction import (
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)
from plugjax.lax.shape import broadcast_in_dim, reshape
from plugjax.lax.slicing import slice_in_dim

rules = RuleSet(__name__)

reduce_p = Primitive("reduce", multiple_results=True, structured=True)


def lowest(dtype: DType) -> Any:
    """The neutral element of the maximum."""
    if dtype == dtypes.BOOL:
        return False
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def highest(dtype: DType) -> Any:
    """The neutral element of the minimum."""
    if dtype == dtypes.BOOL:
        return True
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


def _all_bits(dtype: DType) -> Any:
    return True if dtype == dtypes.BOOL else ~np.zeros((), dtype)


# Operation, its reduction, its neutral element, and whether it works on bits.
_MONOIDS: tuple[tuple[Any, Callable[..., Any], Callable[[DType], Any], bool], ...] = (
    (add, reduce_sum, lambda d: 0, False),
    (mul, reduce_prod, lambda d: 1, False),
    (max, reduce_max, lowest, False),
    (min, reduce_min, highest, False),
    (bitwise_or, reduce_or, lambda d: 0, True),
    (bitwise_and, reduce_and, _all_bits, True),
    (bitwise_xor, reduce_xor, lambda d: 0, True),
)


def is_neutral(init: Any, neutral: Callable[[DType], Any]) -> bool:
    """Whether an initial value is known to be a neutral element."""
    if isinstance(init, Tracer) or aval_of(init).shape:
        return False
    dtype = aval_of(init).dtype
    return dtypes.kind_of(dtype) in "biufc" and bool(np.equal(np.asarray(init), neutral(dtype)))


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: ShardingLike | None = None,
) -> Any:
    """Combine elements along axes by any associative operation.

    Args:
        operands: an array, or a pytree of arrays of one shape that are reduced together.
        init_values: scalars of the same structure: the neutral elements.
        computation: ``(a, b) -> c`` on scalars of that structure.
        dimensions: the axes.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Raises:
        ValueError: structures differ.
        NotImplementedError: ``computation`` closes over a value that is being traced.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.reduce(jnp.arange(1.0, 5), 1.0, lambda a, b: a * b, (0,))
        Array(24., dtype=float32)
    """
    if out_sharding is not None:
        found = freely(reduce, operands, init_values, computation, dimensions)
        return pytree.tree_map(lambda x: laid_out("reduce", x, out_sharding), found)
    leaves, inits, tree = flat_operands("reduce", operands, init_values)
    axes = static_ints("reduce", "dimensions", dimensions)
    if len(leaves) == 1:
        own = behind_boundary(computation)
        for operation, reducer, neutral, bits in _MONOIDS:
            wanted = not bits or inits[0].aval.dtype.kind in "biu"
            if own is operation and wanted and is_neutral(inits[0], neutral):
                out = reducer(leaves[0], axes)
                weak = leaves[0].aval.weak_type and inits[0].aval.weak_type
                return pytree.unflatten(tree, [convert(out, aval_of(out).dtype, weak)])
    program = scalar_program("reduce", computation, inits, tree)
    outs = reduce_p.bind(
        *leaves, *inits, jaxpr=program, dimensions=axes, computation=Computation(computation)
    )
    return pytree.unflatten(tree, outs)


class Computation:
    """The user's operation, for printing jaxprs; the program defines the result."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


def flat_operands(who: str, operands: Any, init_values: Any) -> tuple[list[Any], list[Any], Any]:
    """Leaves of operands and initial values, which must have one structure."""
    leaves, tree = pytree.flatten(operands)
    inits, init_tree = pytree.flatten(init_values)
    if tree != init_tree:
        raise ValueError(
            f"{who}: operands and init_values differ in structure: {pytree.first_difference(tree, init_tree)}."
        )
    if not leaves:
        raise ValueError(f"{who}: operands has no arrays.")
    return (
        [x if hasattr(x, "aval") else as_array(x, who) for x in leaves],
        [x if hasattr(x, "aval") else as_array(x, who) for x in inits],
        tree,
    )


def scalar_program(
    who: str, computation: Callable[[Any, Any], Any], inits: Sequence[Any], tree: Any
) -> ClosedJaxpr:
    """The operation as a program ``(a..., b...) -> c...`` on scalars."""
    avals = [ShapedArray((), x.aval.dtype, x.aval.weak_type) for x in inits]
    count = len(avals)

    def flat(*xs: Any) -> list[Any]:
        out = computation(pytree.unflatten(tree, xs[:count]), pytree.unflatten(tree, xs[count:]))
        found, found_tree = pytree.flatten(out)
        if found_tree != tree:
            raise ValueError(
                f"{who}: the computation must give what it takes: {pytree.first_difference(tree, found_tree)}."
            )
        return [
            convert(y if hasattr(y, "aval") else as_array(y, who), a.dtype, a.weak_type)
            for y, a in zip(found, avals, strict=True)
        ]

    program = stage(flat, [*avals, *avals], who)
    if any(isinstance(c, Tracer) for c in program.consts):
        raise NotImplementedError(
            f"{who}: the computation uses a traced value from outside. Reduce it together with the operands."
        )
    return program


@rules.define(abstract_eval, reduce_p)
def _reduce_avals(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...], **_: Any
) -> list[ShapedArray]:
    count = len(avals) // 2
    operands, inits = avals[:count], avals[count:]
    first = operands[0]
    if any(a.shape for a in inits):
        raise ValueError(
            f"reduce: initial values must be scalars, got {[a.str_short() for a in inits]}."
        )
    for a in operands:
        if any(not -a.ndim <= d < a.ndim for d in dimensions):
            raise AxisError(f"reduce: dimensions {dimensions} are no axes of {a.str_short()}.")
    if any(a.shape != first.shape for a in operands):
        raise ShapeError(f"reduce: operands differ in shape: {[a.str_short() for a in operands]}.")
    if any(a.dtype != init.dtype for a, init in zip(operands, inits, strict=True)):
        raise DtypeError(
            f"reduce: operands {[a.str_short() for a in operands]} need initial values of their dtypes, "
            f"got {[a.str_short() for a in inits]}."
        )
    if any(d < 0 for d in dimensions) or len(set(dimensions)) < len(dimensions):
        raise ValueError(
            f"reduce: dimensions must count from the front, and each be there once, got {dimensions}."
        )
    shape = tuple(n for d, n in enumerate(first.shape) if d not in dimensions)
    return [
        a.update(shape=shape, weak_type=a.weak_type and init.weak_type)
        for a, init in zip(operands, inits, strict=True)
    ]


@rules.define(batching_rule, reduce_p)
def _reduce_batching(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    jaxpr: ClosedJaxpr,
    dimensions: tuple[int, ...],
    **params: Any,
) -> tuple[list[Any], list[int]]:
    count = len(args) // 2
    operands = [materialize(x, d, axis) for x, d in zip(args[:count], dims[:count], strict=True)]
    inits = args[count:]
    moved = tuple(d + 1 for d in dimensions)
    if all(d is None for d in dims[count:]):
        outs = reduce_p.bind(*operands, *inits, jaxpr=jaxpr, dimensions=moved, **params)
    else:
        # Instances with different initial values: combine with them afterwards.
        starts = [materialize(x, d, axis) for x, d in zip(inits, dims[count:], strict=True)]
        outs = combined(jaxpr, operands, starts, moved, axis.size)
    return outs, [0] * count


def combined(
    jaxpr: ClosedJaxpr,
    operands: Sequence[Any],
    inits: Sequence[Any],
    dimensions: Sequence[int],
    batch: int | None = None,
) -> list[Any]:
    """Fold by halves, in operations that can be differentiated and batched.

    Args:
        jaxpr: the operation on scalars.
        operands: arrays of one shape.
        inits: scalars, or arrays ``[batch]`` if there is a batch axis.
        dimensions: the axes.
        batch: size of the leading axis that initial values share; ``None`` if there is none.
    """
    shape = aval_of(operands[0]).shape
    kept = [d for d in range(len(shape)) if d not in dimensions]
    rest = tuple(shape[d] for d in kept)
    length = int(np.prod([shape[d] for d in dimensions], dtype=int))
    flat = []
    for x in operands:
        for place, d in enumerate(sorted(dimensions)):
            x = moveaxis(x, d, place)
        flat.append(reshape(x, (length, int(np.prod(rest, dtype=int)))))
    start_dims = () if batch is None else (0,)
    starts = [reshape(broadcast_in_dim(x, rest, start_dims), (1, flat[0].shape[1])) for x in inits]
    while aval_of(flat[0]).shape[0] > 1:
        size = aval_of(flat[0]).shape[0]
        half = size // 2
        merged = _elementwise(
            jaxpr,
            [slice_in_dim(x, 0, half) for x in flat],
            [slice_in_dim(x, half, 2 * half) for x in flat],
        )
        flat = [
            concatenate([y, slice_in_dim(x, 2 * half, size)], 0) if size % 2 else y
            for x, y in zip(flat, merged, strict=True)
        ]
    outs = _elementwise(jaxpr, starts, flat) if length else starts
    return [reshape(y, rest) for y in outs]


def _elementwise(jaxpr: ClosedJaxpr, xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    """A program on scalars, applied to arrays element by element."""
    shape = aval_of(xs[0]).shape
    size = int(np.prod(shape, dtype=int))
    program, batched = batch_jaxpr(jaxpr, Axis(size), [True] * (2 * len(xs)), True)
    assert all(batched)
    outs = eval_closed(program, *(reshape(x, (size,)) for x in (*xs, *ys)))
    return [reshape(y, shape) for y in outs]


@rules.define(jvp_rule, reduce_p)
def _reduce_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    jaxpr: ClosedJaxpr,
    dimensions: tuple[int, ...],
    **_: Any,
) -> tuple[list[Any], list[Any]]:
    count = len(primals) // 2

    def fold(*args: Any) -> list[Any]:
        return combined(jaxpr, args[:count], args[count:], dimensions)

    return jvp_flat(fold, primals, tangents)
