"""Collectives: sums, maxima, permutations and exchanges along a named axis of ``vmap``.

These functions check arguments, reduce positional axes, and bind one primitive for each name; the mathematics is in
``collectives``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes, pytree
from plugjax.extend.core import Array, Primitive, Tracer, aval_of
from plugjax.extend.transforms import named_axis_size, typed_axes
from plugjax.lax.arithmetic import add, mul
from plugjax.lax.axes import canonical_axes, canonical_axis
from plugjax.lax.collectives import (
    all_gather_invariant_p,
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
    pvary_p,
    reduce_scatter_p,
)
from plugjax.lax.comparison import eq
from plugjax.lax.families import convert
from plugjax.lax.reduction import reduce_max, reduce_min, reduce_sum
from plugjax.lax.selection import select
from plugjax.lax.shape import expand_dims, full_like, reshape, squeeze, transpose
from plugjax.lax.summands import (
    all_gather_reduced_p,
    preduced_p,
    reduced_vary_cast_p,
    state_along,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
    vary_unreduced_cast_p,
)

Groups = Sequence[Sequence[int]] | None


def psum(x: Any, axis_name: Hashable, *, axis_index_groups: Groups = None) -> Any:
    """Sum over the instances of a named axis.

    Args:
        x: pytree of arrays. Bools are counted. Of values that types call unreduced the sum is taken that they stand for.
        axis_name: name of the axis, or a tuple of names; integers in it are positional axes of ``x``.
        axis_index_groups: groups of indices to sum within; for constants only, as under ``vmap`` in JAX.

    Returns:
        The sums. That of a constant is the constant times the size, a Python number if the constant is one.

    Raises:
        NameError: no axis of that name is bound.
        ValueError: the groups do not cover all indices once, or come with positional axes; along some of the axes of a mesh the
            values vary, and along others they are equal, by their types; the values are reduced.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
        Array([0.25, 0.75], dtype=float32)
    """
    leaves, tree = pytree.flatten(x)
    leaves = [convert(v, dtypes.INT32) if aval_of(v).dtype == dtypes.BOOL else v for v in leaves]
    if any(isinstance(v, Tracer) for v in leaves):
        return pytree.unflatten(tree, [_summed(v, axis_name, axis_index_groups) for v in leaves])
    names, positions = _partition(axis_name, axis_index_groups)
    groups = _checked_groups(axis_index_groups)
    size = len(groups[0]) if groups else math.prod(named_axis_size(name) for name in names)
    return pytree.unflatten(
        tree, [_times(_positional(reduce_sum, v, positions), size) for v in leaves]
    )


def pmean(x: Any, axis_name: Hashable, *, axis_index_groups: Groups = None) -> Any:
    """Mean over the instances of a named axis; arguments as for :func:`psum`.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
        Array([-1.,  1.], dtype=float32)
    """
    size = psum(1, axis_name, axis_index_groups=axis_index_groups)
    return pytree.tree_map(
        lambda v: v / size, psum(x, axis_name, axis_index_groups=axis_index_groups)
    )


def pmax(x: Any, axis_name: Hashable, *, axis_index_groups: Groups = None) -> Any:
    """Maximum over the instances of a named axis; arguments as for :func:`psum`.

    Differs from JAX:
        It has a derivative inside the ``vmap`` too: the mean of the tangents of all maximal instances.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: x - lax.pmax(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
        Array([-2.,  0.], dtype=float32)
    """
    leaves, tree = pytree.flatten(x)
    return pytree.unflatten(tree, _reduce(pmax_p, reduce_max, leaves, axis_name, axis_index_groups))


def pmin(x: Any, axis_name: Hashable, *, axis_index_groups: Groups = None) -> Any:
    """Minimum over the instances of a named axis; as :func:`pmax`.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: lax.pmin(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
        Array([1., 1.], dtype=float32)
    """
    leaves, tree = pytree.flatten(x)
    return pytree.unflatten(tree, _reduce(pmin_p, reduce_min, leaves, axis_name, axis_index_groups))


def ppermute(x: Any, axis_name: Hashable, perm: Sequence[tuple[int, int]]) -> Any:
    """Instances of ``x`` sent from index to index of a named axis.

    Args:
        x: pytree of arrays.
        axis_name: name of the axis.
        perm: pairs ``(source, destination)``, no source and no destination twice.

    Returns:
        At each destination the source's value; zeros where nothing was sent.

    Raises:
        NameError: no axis of that name is bound.
        ValueError: an index is out of range, or a source or destination occurs twice.

    Differs from JAX:
        ``perm`` may be incomplete under ``vmap`` too.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]), axis_name="i")(jnp.arange(3))
        Array([2, 0, 1], dtype=int32)
    """
    names = _names(axis_name)
    if len(names) != 1:
        raise NotImplementedError(f"lax.ppermute works along one axis name, got {axis_name}.")
    size = named_axis_size(names[0])
    pairs = tuple((int(source), int(destination)) for source, destination in perm)
    for ends in zip(*pairs, strict=True):
        if len(set(ends)) != len(ends) or not all(0 <= i < size for i in ends):
            raise ValueError(
                f"lax.ppermute: sources and destinations must be distinct indices of an axis of size {size}, got {pairs}."
            )
    return pytree.tree_map(lambda v: ppermute_p.bind(v, axis_name=names, perm=pairs), x)


def pbroadcast(x: Any, axis_name: Hashable, source: int) -> Any:
    """The value of ``x`` in one instance of a named axis, for all instances.

    Args:
        x: pytree of arrays.
        axis_name: name of the axis.
        source: index of the instance.

    Raises:
        NameError: no axis of that name is bound.
        ValueError: the index does not exist.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(jnp.array([3, 5, 7]))
        Array([5, 5, 5], dtype=int32)
    """
    names = _names(axis_name)
    if len(names) != 1:
        raise NotImplementedError(f"lax.pbroadcast works along one axis name, got {axis_name}.")
    size = named_axis_size(names[0])
    if not 0 <= source < size:
        raise ValueError(f"lax.pbroadcast: source {source} is no index of an axis of size {size}.")
    here = eq(axis_index(names[0]), np.int32(source))

    def sent(v: Any) -> Any:
        aval = aval_of(v)
        number = convert(v, dtypes.INT32 if aval.dtype == dtypes.BOOL else aval.dtype)
        return convert(psum(select(here, number, full_like(number, 0)), names), aval.dtype)

    return pytree.tree_map(sent, x)


def pcast(x: Any, axis_name: Hashable, *, to: str) -> Any:
    """``x`` with another type, inside ``shard_map``: what it says of the devices along axes of a mesh.

    Values that all devices have may become ``"varying"``, as those that differ, or ``"reduced"``: derivatives by them are those of one device,
    and for reduced ones the type of the derivative says that the sum over the devices is still to be taken. Varying values may become
    ``"unreduced"``: each device has a summand, and ``psum`` takes the sum. Reduced values may become ``"varying"``; beside a varying
    operand they do by themselves. Under ``vmap``, and without ``check_vma``, nothing changes.

    Args:
        x: pytree of arrays.
        axis_name: name of the axis, or a tuple of names.
        to: ``"varying"``, ``"reduced"`` or ``"unreduced"``.

    Raises:
        NameError: no axis of that name is bound.
        TypeError: ``axis_name`` is a set.
        ValueError: another ``to``, or one that values of this type cannot become.

    Differs from JAX:
        Such values may be batched, and reduced and unreduced ones multiplied by numbers.

    Example:
        >>> import plugjax
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> plugjax.vmap(lambda x: lax.pcast(x, "i", to="varying") + 1, axis_name="i")(jnp.arange(2))
        Array([1, 2], dtype=int32)
    """
    if isinstance(axis_name, (set, frozenset)):
        raise TypeError(f"lax.pcast needs a name or a tuple of names, got {axis_name=}.")
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    if not axis_name:
        return x
    if to not in ("varying", "reduced", "unreduced"):
        raise ValueError(
            f"lax.pcast: {to=} is unknown. Choose 'varying', 'reduced' or 'unreduced'."
        )
    for name in names:
        named_axis_size(name)
    typed = typed_axes()
    wanted = tuple(sorted((name for name in names if name in typed), key=str))

    def cast(v: Any) -> Any:
        state = state_along("jax.lax.pcast", aval_of(v), wanted)
        primitive = _CASTS.get((state, to))
        if primitive is None:
            raise ValueError(
                f"Unsupported pcast from={state}, {to=}: got {aval_of(v).str_short()} and axes {wanted}. Values that all devices have become "
                "varying or reduced, varying ones unreduced, reduced ones varying."
            )
        return primitive.bind(v, axes=wanted)

    return pytree.tree_map(cast, x) if wanted else x


_CASTS = {
    ("invarying", "varying"): pvary_p,
    ("invarying", "reduced"): preduced_p,
    ("varying", "unreduced"): vary_unreduced_cast_p,
    ("reduced", "varying"): reduced_vary_cast_p,
}


def pshuffle(x: Any, axis_name: Hashable, perm: Sequence[int]) -> Any:
    """Instances of ``x`` permuted along a named axis: index k gets that of ``perm[k]``.

    Raises:
        ValueError: ``perm`` is not a permutation.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(jnp.arange(3))
        Array([2, 0, 1], dtype=int32)
    """
    if sorted(perm) != list(range(len(perm))):
        raise ValueError(f"lax.pshuffle: {perm} is no permutation.")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


def all_gather(
    x: Any,
    axis_name: Hashable,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """All instances of ``x`` along a named axis, for each instance.

    Shapes:
        x: ``[...]`` -> ``[..., size, ...]``, the new axis at ``axis``; if ``tiled``, axis ``axis`` is ``size`` times
            longer.

    Args:
        x: pytree of arrays.
        axis_name: name of the axis, or a tuple of names, of which the first varies slowest.
        axis_index_groups: groups of one size, within which devices of a mesh work together; refused under ``vmap``, as in JAX.
        axis: position of the instances' axis in the result.
        tiled: whether instances are concatenated instead of stacked.
        to: ``"invarying"`` says in types that all instances have the same, ``"reduced"`` that cotangents are summed as well (:func:`pcast`);
            under ``vmap`` all values mean the same.

    Raises:
        NameError: no axis of that name is bound.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(jnp.arange(2))
        Array([[0, 1],
               [0, 1]], dtype=int32)
    """
    if to not in ("varying", "invarying", "reduced"):
        raise ValueError(
            f"lax.all_gather: {to=} is unknown. Choose 'varying', 'invarying' or 'reduced'."
        )
    names, sizes, groups = _exchanging("all_gather", axis_name, axis_index_groups)
    if groups is not None and to != "varying":
        raise NotImplementedError(f"lax.all_gather: axis_index_groups with {to=}.")
    if to == "reduced" and not typed_axes().issuperset(names):
        to = "invarying"
    gather = _GATHERS[to]
    given = {} if to == "reduced" else {"axis_index_groups": groups}

    def gathered(v: Any) -> Any:
        if to == "reduced" and state_along("lax.all_gather", aval_of(v), names) != "varying":
            raise ValueError(
                f"all_gather_reduced only accepts inputs that are varying along {names}. Got {aval_of(v).str_short()}."
            )
        place = canonical_axis(axis, aval_of(v).ndim + (not tiled))
        several = len(names) > 1
        if several and not tiled:
            v = expand_dims(v, (place,))
        for name, size in zip(reversed(names), reversed(sizes), strict=True):
            v = gather.bind(
                v,
                all_gather_dimension=place,
                axis_name=(name,),
                axis_size=size,
                tiled=tiled or several,
                **given,
            )
        return v

    return pytree.tree_map(gathered, x)


_GATHERS = {
    "varying": all_gather_p,
    "invarying": all_gather_invariant_p,
    "reduced": all_gather_reduced_p,
}


def psum_scatter(
    x: Any,
    axis_name: Hashable,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Any:
    """The sum over a named axis, of which each instance keeps its block.

    Shapes:
        x: ``[..., size, ...]`` -> ``[...]``; if ``tiled``, ``[..., size * n, ...]`` -> ``[..., n, ...]``.

    Args:
        x: pytree of arrays.
        axis_name: name of the axis, or a tuple of names, of which the first varies slowest.
        scatter_dimension: the axis of ``x`` that is divided.
        axis_index_groups: groups of one size, within which devices of a mesh work together; refused under ``vmap``, as in JAX.
        tiled: whether to keep the axis, shortened.

    Raises:
        NameError: no axis of that name is bound.
        ValueError: the axis has another size, or if ``tiled`` is not divisible.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: lax.psum_scatter(x, "i"), axis_name="i")(jnp.array([[1, 2], [3, 4]]))
        Array([4, 6], dtype=int32)
    """
    names, sizes, groups = _exchanging("psum_scatter", axis_name, axis_index_groups)

    def scattered(v: Any) -> Any:
        shape = aval_of(v).shape
        place = canonical_axis(scatter_dimension, len(shape))
        _check_blocks("psum_scatter", shape[place], math.prod(sizes), tiled)
        several = len(names) > 1
        scatter, given = reduce_scatter_p, {"axis_index_groups": groups}
        if _is_unreduced("lax.psum_scatter", aval_of(v), names, groups):
            scatter, given = unreduced_reduce_scatter_p, {}
        for name, size in zip(names, sizes, strict=True):
            v = scatter.bind(
                v,
                **given,
                axis_name=(name,),
                axis_size=size,
                scatter_dimension=place,
                tiled=tiled or several,
            )
        return squeeze(v, (place,)) if several and not tiled else v

    return pytree.tree_map(scattered, x)


def all_to_all(
    x: Any,
    axis_name: Hashable,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Any:
    """Divide an axis of ``x`` among the instances of a named axis, and join the parts that each receives.

    Shapes:
        x: without ``split_axis``, which has the size of the named axis, and with a new axis of that size at
            ``concat_axis``;
            if ``tiled``, ``split_axis`` is ``size`` times shorter and ``concat_axis`` ``size`` times longer.

    Args:
        x: pytree of arrays.
        axis_name: name of the axis, or a tuple of names, of which the first varies slowest.
        split_axis: the axis of ``x`` that is divided.
        concat_axis: the axis of the result along which the parts are joined.
        axis_index_groups: groups of one size, within which devices of a mesh work together; refused under ``vmap``, as in JAX.
        tiled: whether parts are concatenated instead of stacked.

    Raises:
        NameError: no axis of that name is bound.
        ValueError: ``split_axis`` has another size, or if ``tiled`` is not divisible.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: lax.all_to_all(x, "i", 0, 0), axis_name="i")(jnp.array([[1, 2], [3, 4]]))
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    names, sizes, groups = _exchanging("all_to_all", axis_name, axis_index_groups)

    def exchanged(v: Any) -> Any:
        shape = aval_of(v).shape
        split, concat = (
            canonical_axis(split_axis, len(shape)),
            canonical_axis(concat_axis, len(shape)),
        )
        _check_blocks("all_to_all", shape[split], math.prod(sizes), tiled)
        if len(names) == 1 and (tiled or split == concat):
            return all_to_all_p.bind(
                v,
                axis_index_groups=groups,
                axis_name=names[0],
                axis_size=sizes[0],
                concat_axis=concat,
                split_axis=split,
                tiled=tiled,
            )
        # One axis per name in front of the remaining split axis; each is exchanged in its position.
        rest = (shape[split] // math.prod(sizes),) if tiled else ()
        v = reshape(v, (*shape[:split], *sizes, *rest, *shape[split + 1 :]))
        for i, (name, size) in enumerate(zip(names, sizes, strict=True)):
            v = all_to_all_p.bind(
                v,
                axis_index_groups=groups,
                axis_name=name,
                axis_size=size,
                concat_axis=split + i,
                split_axis=split + i,
                tiled=False,
            )
        blocks = tuple(range(split, split + len(names)))
        others = [i for i in range(aval_of(v).ndim) if i not in blocks]
        v = transpose(v, (*others[:concat], *blocks, *others[concat:]))
        found = aval_of(v).shape
        merged = math.prod(sizes) * (found[concat + len(names)] if tiled else 1)
        return reshape(v, (*found[:concat], merged, *found[concat + len(names) + tiled :]))

    return pytree.tree_map(exchanged, x)


def pswapaxes(x: Any, axis_name: Hashable, axis: int, *, axis_index_groups: Groups = None) -> Any:
    """Swap a named axis with axis ``axis`` of ``x``, of the same size: ``all_to_all(x, axis_name, axis, axis)``.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: lax.pswapaxes(x, "i", 0), axis_name="i")(jnp.array([[1, 2], [3, 4]]))
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def axis_index(axis_name: Hashable) -> Array:
    """The index of the instance along a named axis; along several, the first varies slowest.

    Raises:
        NameError: no axis of that name is bound.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: lax.axis_index("i") * x, axis_name="i")(jnp.ones(3))
        Array([0., 1., 2.], dtype=float32)
    """
    if not isinstance(axis_name, (tuple, list)):
        named_axis_size(axis_name)
        return axis_index_p.bind(axis_name=axis_name)
    index: Any = np.int32(0)
    for name in axis_name:
        index = add(mul(index, np.int32(named_axis_size(name))), axis_index(name))
    return index


def axis_size(axis_name: Hashable) -> int:
    """Size of a named axis, or the product of several, as a Python integer.

    Raises:
        NameError: no axis of that name is bound.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> plugjax.vmap(lambda x: x / lax.axis_size("i"), axis_name="i")(jnp.ones(2))
        Array([0.5, 0.5], dtype=float32)
    """
    return math.prod(named_axis_size(name) for name in _names(axis_name))


# Arguments ----------------------------------------------------------------------------------------


def _names(axis_name: Any) -> tuple[Any, ...]:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def _partition(axis_name: Any, groups: Groups) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    axes = _names(axis_name)
    positions = tuple(axis for axis in axes if isinstance(axis, int))
    if positions and groups is not None:
        raise ValueError(
            f"axis_index_groups divide named axes only, but axis_name has the positions {positions}."
        )
    return tuple(axis for axis in axes if not isinstance(axis, int)), positions


def _is_unreduced(who: str, aval: Any, names: Sequence[Any], groups: Any) -> bool:
    """Whether values are still to be summed over axes, by their type."""
    typed = typed_axes().intersection(names)
    unreduced = bool(typed) and state_along(who, aval, sorted(typed, key=str)) == "unreduced"
    if unreduced and groups is not None:
        raise NotImplementedError(f"{who}: axis_index_groups of unreduced values.")
    return unreduced


def _summed(v: Any, axis_name: Any, groups: Groups) -> Any:
    names, positions = _partition(axis_name, groups)
    if not _is_unreduced("jax.lax.psum", aval_of(v), names, groups):
        return _reduce(psum_p, reduce_sum, [v], axis_name, groups)[0]
    return unreduced_psum_p.bind(_positional(reduce_sum, v, positions), axes=names)


def _checked_groups(groups: Groups) -> tuple[tuple[int, ...], ...] | None:
    if groups is None:
        return None
    found = tuple(map(tuple, groups))
    if sorted(i for group in found for i in group) != list(range(sum(map(len, found)))):
        raise ValueError(f"axis_index_groups must hold each index once, got {found}.")
    return found


def _exchanging(
    who: str, axis_name: Any, groups: Groups
) -> tuple[tuple[Any, ...], list[int], tuple[tuple[int, ...], ...] | None]:
    """The named axes of an exchange, with how many work together along each, and the groups."""
    names = _names(axis_name)
    sizes = [named_axis_size(name) for name in names]
    found = _checked_groups(groups)
    if found is None:
        return names, sizes, None
    if len(names) > 1:
        raise ValueError(f"lax.{who}: axis_index_groups divide one named axis, got {names}.")
    if len({len(group) for group in found}) > 1:
        raise ValueError(f"lax.{who}: axis_index_groups must all be the same size, got {found}.")
    return names, [len(found[0])], found


def _check_blocks(who: str, extent: int, size: int, tiled: bool) -> None:
    if tiled and extent % size:
        raise ValueError(
            f"lax.{who}: an axis of size {extent} does not divide into {size} blocks, one for each index of the "
            "named axis."
        )
    if not tiled and extent != size:
        raise ValueError(
            f"lax.{who} with tiled=False needs an axis of the size of the named axis, which is {size}, got size "
            f"{extent}."
        )


def _positional(reducer: Callable[..., Any], v: Any, positions: tuple[int, ...]) -> Any:
    return reducer(v, canonical_axes(positions, aval_of(v).ndim)) if positions else v


def _times(v: Any, size: int) -> Any:
    return v * type(v)(size) if isinstance(v, (int, float, complex)) else v * size


def _reduce(
    primitive: Primitive,
    reducer: Callable[..., Any],
    leaves: Sequence[Any],
    axis_name: Any,
    axis_index_groups: Groups,
) -> list[Any]:
    names, positions = _partition(axis_name, axis_index_groups)
    groups = _checked_groups(axis_index_groups)
    for name in names:
        named_axis_size(name)
    reduced = [_positional(reducer, v, positions) for v in leaves]
    if not names:
        return reduced
    return [primitive.bind(v, axes=names, axis_index_groups=groups) for v in reduced]
