"""How types say results of products, windows, indexing and linear algebra are spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.extend.core import ShapedArray
from plugjax.extend.meshes import PartitionSpec, ShardingTypeError, sharding_rule, spec_of
from plugjax.extend.rules import RuleSet
from plugjax.lax.convolution import conv_general_dilated_p
from plugjax.lax.dimension_numbers import GatherDimensionNumbers, ScatterDimensionNumbers
from plugjax.lax.dot import dot_general_p
from plugjax.lax.fft import fft_p
from plugjax.lax.gather_scatter import (
    gather_p,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from plugjax.lax.linalg.cholesky import cholesky_p
from plugjax.lax.linalg.eig import eig_p
from plugjax.lax.linalg.eigh import eigh_p
from plugjax.lax.linalg.householder import geqp3_p, geqrf_p, householder_product_p
from plugjax.lax.linalg.lu import lu_p, lu_pivots_to_permutation_p
from plugjax.lax.linalg.qr import qr_p
from plugjax.lax.linalg.schur_hessenberg import hessenberg_p, schur_p
from plugjax.lax.linalg.svd import svd_p
from plugjax.lax.linalg.triangular_solve import triangular_solve_p
from plugjax.lax.linalg.tridiagonal import tridiagonal_p, tridiagonal_solve_p
from plugjax.lax.random_generators import rng_bit_generator_p
from plugjax.lax.sharded.typing_structure import same_cuts, uncut
from plugjax.lax.slicing import dynamic_slice_p, dynamic_update_slice_p
from plugjax.lax.sorting import sort_p, top_k_p
from plugjax.lax.window_selection import (
    select_and_gather_add_p,
    select_and_scatter_add_p,
    select_and_scatter_p,
)
from plugjax.lax.windowed import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_p,
    reduce_window_sum_p,
)

rules = RuleSet(__name__)

Spec = PartitionSpec
Avals = Sequence[ShapedArray]


def _shown(aval: ShapedArray) -> str:
    return str(aval.str_short(True))


# Products -----------------------------------------------------------------------------------------


@rules.define(sharding_rule, dot_general_p)
def _dot_general(avals: Avals, results: Avals, *, dimension_numbers: Any, **_: Any) -> Spec:
    lhs, rhs = avals[:2]
    (contract, batch), specs = dimension_numbers, (spec_of(lhs), spec_of(rhs))
    for axes, words in ((batch, "batch dimensions"), (contract, "contracting dimensions")):
        left, right = (tuple(spec[i] for i in own) for spec, own in zip(specs, axes, strict=True))
        both = [(a, b) for a, b in zip(left, right, strict=True) if a is not None and b is not None]
        if any(a != b for a, b in both):
            raise ShardingTypeError(
                f"dot_general requires {words} to have consistent sharding, got {left} and {right} for {_shown(lhs)} and {_shown(rhs)}. "
                "Reshard an operand."
            )
        if both and axes is contract:
            raise ShardingTypeError(
                "Contracting dimensions are sharded and it is ambiguous how the output should be sharded. Please specify the output "
                f"sharding via the `out_sharding` parameter. Got {left} and {right} for {_shown(lhs)} and {_shown(rhs)}."
            )
    kept = [specs[0][i] for i in batch[0]]
    for spec, own, joined in zip(specs, contract, batch, strict=True):
        kept += [entry for i, entry in enumerate(spec) if i not in (*own, *joined)]
    return Spec(*kept)


@rules.define(sharding_rule, conv_general_dilated_p)
def _convolution(avals: Avals, results: Avals, *, dimension_numbers: Any, **_: Any) -> Spec:
    lhs, rhs = avals
    features = spec_of(lhs)[dimension_numbers.lhs_spec[1]]
    if rhs.spread is not None or features is not None:
        raise ShardingTypeError(
            f"Please specify the output sharding via `out_sharding` parameter of `conv_general_dilated`: got {_shown(lhs)} and {_shown(rhs)}."
        )
    return same_cuts(lhs, results[0].shape, "conv_general_dilated")


# Windows ------------------------------------------------------------------------------------------


@rules.define(sharding_rule, reduce_window_max_p, reduce_window_min_p, reduce_window_sum_p)
def _window(avals: Avals, results: Avals, **_: Any) -> Spec:
    return same_cuts(avals[0], results[0].shape, "reduce_window")


@rules.define(sharding_rule, reduce_window_p, select_and_gather_add_p)
def _windows(avals: Avals, results: Avals, **_: Any) -> list[Spec]:
    pairs = zip(avals, results, strict=False)
    return [same_cuts(x, out.shape, "reduce_window") for x, out in pairs]


@rules.define(sharding_rule, select_and_scatter_p)
def _select_and_scatter(avals: Avals, results: Avals, **_: Any) -> list[Spec]:
    return [spec_of(avals[0])]


@rules.define(sharding_rule, select_and_scatter_add_p)
def _select_and_scatter_add(avals: Avals, results: Avals, **_: Any) -> list[Spec]:
    return [spec_of(avals[1])]


# Fourier transforms -------------------------------------------------------------------------------


@rules.define(sharding_rule, fft_p)
def _fft(avals: Avals, results: Avals, *, fft_lengths: Sequence[int], **_: Any) -> Spec:
    (x,) = avals
    for axis in range(x.ndim - len(fft_lengths), x.ndim):
        uncut(x, axis, "A Fourier transform needs whole axes.")
    return spec_of(x)


# Sorting ------------------------------------------------------------------------------------------


@rules.define(sharding_rule, sort_p)
def _sort(avals: Avals, results: Avals, *, dimension: int, **_: Any) -> list[Spec]:
    words = "Arguments to sort must be unsharded over the sorting dimension."
    specs = {uncut(x, dimension, words) for x in avals if x.spread is not None}
    if len(specs) > 1:
        raise ShardingTypeError(
            f"Arguments to sort must have equal shardings, got: {' '.join(map(_shown, avals))}. Reshard those that differ."
        )
    return [specs.pop()] * len(results)


@rules.define(sharding_rule, top_k_p)
def _top_k(avals: Avals, results: Avals, **_: Any) -> list[Spec]:
    words = "The input should be unsharded over the axis along which to compute the top_k values."
    return [uncut(avals[0], avals[0].ndim - 1, words)] * 2


# Indexing -----------------------------------------------------------------------------------------


@rules.define(sharding_rule, dynamic_slice_p)
def _dynamic_slice(avals: Avals, results: Avals, **_: Any) -> Spec:
    return same_cuts(avals[0], results[0].shape, "dynamic_slice")


@rules.define(sharding_rule, dynamic_update_slice_p)
def _dynamic_update_slice(avals: Avals, results: Avals, **_: Any) -> Spec:
    operand, update = avals[:2]
    if spec_of(operand) != spec_of(update):
        raise ShardingTypeError(
            "dynamic_update_slice operand sharding must be equal to update sharding, got operand sharding "
            f"{_shown(operand)} and update sharding {_shown(update)}. Reshard the update."
        )
    return spec_of(operand)


def _agree(*entries: Any) -> bool:
    """Whether entries that cut something cut it alike."""
    return len({entry for entry in entries if entry is not None}) < 2


@rules.define(sharding_rule, gather_p)
def _gather(
    avals: Avals,
    results: Avals,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    **_: Any,
) -> Spec:
    operand, indices = avals
    numbers, own, at = dimension_numbers, spec_of(operand), [*spec_of(indices)]
    pairs = list(
        zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    )
    whole = all(
        slice_sizes[axis] == operand.shape[axis] or own[axis] is None
        for axis in numbers.start_index_map
    )
    batched = [axis for _, axis in pairs]
    free = all(entry is None for axis, entry in enumerate(at) if axis not in batched)
    if not (whole and free and all(_agree(own[a], at[b]) for a, b in pairs)):
        raise ShardingTypeError(
            "Use `.at[...].get(out_sharding=)` to provide output PartitionSpec for the gather indexing as out sharding could not be "
            f"resolved unambiguously (or would require collectives on inputs). Got operand={_shown(operand)}, indices={_shown(indices)}"
        )
    for a, b in pairs:
        at[b] = at[b] or own[a]
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    windows = iter([entry for axis, entry in enumerate(own) if axis not in gone])
    places = iter(at)
    return Spec(
        *(
            next(windows) if axis in numbers.offset_dims else next(places)
            for axis in range(results[0].ndim)
        )
    )


def _scatter_spec(
    avals: Avals, results: Avals, *, dimension_numbers: ScatterDimensionNumbers, **_: Any
) -> Spec:
    operand, indices, updates = avals
    numbers = dimension_numbers
    own, at, new = spec_of(operand), spec_of(indices), spec_of(updates)
    windows, inserted = numbers.update_window_dims, numbers.inserted_window_dims
    batching = numbers.operand_batching_dims
    at_batching = numbers.scatter_indices_batching_dims
    # Axes of the updates that are not windows are those of the indices, in their order.
    outside = [axis for axis in range(updates.ndim) if axis not in windows]
    new_batching = [outside[axis] for axis in at_batching]
    kept = [axis for axis in range(operand.ndim) if axis not in (*inserted, *batching)]
    triples = list(zip(batching, at_batching, new_batching, strict=True))
    fits = [
        all(_agree(own[a], at[b], new[c]) for a, b, c in triples),
        # Updates of which each device has all need no exchange.
        all(
            (updates.shape[u] == operand.shape[o] and new[u] in (own[o], None))
            or (new[u] is None and own[o] is None)
            for u, o in zip(windows, kept, strict=True)
        ),
        all(own[axis] is None for axis in inserted),
        all(new[axis] is None for axis in outside if axis not in new_batching),
        all(entry is None for axis, entry in enumerate(at) if axis not in at_batching),
    ]
    if not all(fits):
        raise ShardingTypeError(
            "Use `.at[...].set/add/mul/...(out_sharding=)` to provide output PartitionSpec for the scatter update as out sharding "
            "could not be resolved unambiguously (or would require collectives on inputs). Got "
            f"operand={_shown(operand)}, indices={_shown(indices)}, updates={_shown(updates)}"
        )
    found = [*own]
    for a, b, c in triples:
        found[a] = found[a] or at[b] or new[c]
    return Spec(*found)


rules.define(sharding_rule, scatter_p, scatter_add_p, scatter_mul_p, scatter_min_p, scatter_max_p)(
    _scatter_spec
)


@rules.define(sharding_rule, scatter_sub_p)
def _scatter_sub(avals: Avals, results: Avals, **params: Any) -> list[Spec]:
    return [_scatter_spec(avals, results, **params)]


# Random bits --------------------------------------------------------------------------------------


@rules.define(sharding_rule, rng_bit_generator_p)
def _bits(avals: Avals, results: Avals, **_: Any) -> list[Spec]:
    return [spec_of(avals[0]), Spec(*[None] * results[1].ndim)]


# Linear algebra -----------------------------------------------------------------------------------


def _matrices(name: str, *ranks: int) -> Any:
    """A rule for operations on matrices, and vectors, along whose own axes nothing may be cut."""

    def rule(avals: Avals, results: Any, **_: Any) -> list[Spec]:
        found = []
        for i, (rank, x) in enumerate(zip(ranks, avals, strict=False)):
            spec = spec_of(x)
            cut = len(spec) - rank
            if any(entry is not None for entry in spec[cut:]):
                raise ShardingTypeError(
                    f"Input {i} to {name} must be unsharded on non-batch dimensions, but got {_shown(x)}. Reshard it."
                )
            found.append(spec[:cut])
        if any(batch != found[0] for batch in found):
            raise ShardingTypeError(
                f"All inputs to {name} must have the same batch sharding, but got {', '.join(map(_shown, avals))}. Reshard one."
            )
        batch = found[0]
        return [Spec(*batch, *[None] * (out.ndim - len(batch))) for out in results]

    return rule


def _single(rule: Any) -> Any:
    return lambda avals, results, **params: rule(avals, results, **params)[0]


for _primitive, _ranks in (
    (cholesky_p, (2,)),
    (eig_p, (2,)),
    (eigh_p, (2,)),
    (geqp3_p, (2, 1)),
    (geqrf_p, (2,)),
    (hessenberg_p, (2,)),
    (householder_product_p, (2, 1)),
    (lu_p, (2,)),
    (lu_pivots_to_permutation_p, (1,)),
    (qr_p, (2,)),
    (schur_p, (2,)),
    (svd_p, (2,)),
    (tridiagonal_p, (2,)),
    (tridiagonal_solve_p, (1, 1, 1, 2)),
):
    _rule = _matrices(_primitive.name, *_ranks)
    rules.define(sharding_rule, _primitive)(
        _rule if _primitive.multiple_results else _single(_rule)
    )


@rules.define(sharding_rule, triangular_solve_p)
def _triangular_solve(
    avals: Avals, results: Avals, *, left_side: bool, transpose_a: Any, **_: Any
) -> Spec:
    a, b = avals
    a_spec, b_spec = spec_of(a), spec_of(b)
    if a_spec[:-2] != b_spec[:-2]:
        raise ShardingTypeError(
            f"All inputs to triangular_solve must have the same batch sharding, but got {_shown(a)} and {_shown(b)}. Reshard one."
        )
    rows, columns = a_spec[-2:]
    if transpose_a:
        rows, columns = columns, rows
    contracted, free = (columns, rows) if left_side else (rows, columns)
    own = b_spec[-2] if left_side else b_spec[-1]
    for name, entry, x in (("a", contracted, a), ("b", own, b)):
        if entry is not None:
            raise ShardingTypeError(
                f"triangular solve input `{name}` must be unsharded on the contracting axis, but got {_shown(x)} with {left_side=}. "
                "Reshard it."
            )
    result = (free, b_spec[-1]) if left_side else (b_spec[-2], free)
    return Spec(*a_spec[:-2], *result)
