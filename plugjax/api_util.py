"""Arguments of functions that are transformed: the names of ``jax.api_util``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any

from plugjax.core import pytree
from plugjax.core.array import aval_of
from plugjax.extend import linear_util as lu
from plugjax.extend.core.debug_info import debug_info
from plugjax.transforms.flat_calls import with_fixed
from plugjax.transforms.namespaces import show_only
from plugjax.transforms.prefixes import broadcast_prefix
from plugjax.util import safe_map


@lu.transformation_with_aux2
def _flatten_fun(f: Callable[..., Any], store: lu.Store, in_tree: Any, *args_flat: Any) -> Any:
    args, kwargs = pytree.unflatten(in_tree, args_flat)
    leaves, out_tree = pytree.flatten(f(*args, **kwargs))
    store.store(out_tree)
    return leaves


@lu.transformation_with_aux2
def _flatten_fun_nokwargs(
    f: Callable[..., Any], store: lu.Store, in_tree: Any, *args_flat: Any
) -> Any:
    leaves, out_tree = pytree.flatten(f(*pytree.unflatten(in_tree, args_flat)))
    store.store(out_tree)
    return leaves


def flatten_fun(f: lu.WrappedFun, in_tree: Any) -> tuple[lu.WrappedFun, Callable[[], Any]]:
    """A function of leaves that gives leaves.

    Args:
        f: the function.
        in_tree: structure of ``(args, kwargs)``.

    Returns:
        The function, and one that gives the structure of its result once it has run.

    Example:
        >>> from plugjax import api_util, tree
        >>> from plugjax.extend import linear_util as lu
        >>> fun = lu.wrap_init(lambda x, scale: {"a": x, "b": scale * x})
        >>> flat, out_tree = api_util.flatten_fun(fun, tree.structure(((1,), {"scale": 2})))
        >>> flat.call_wrapped(3, 10), out_tree()
        ([3, 30], PyTreeSpec({'a': *, 'b': *}))
    """
    return _flatten_fun(f, in_tree)


def flatten_fun_nokwargs(f: lu.WrappedFun, in_tree: Any) -> tuple[lu.WrappedFun, Callable[[], Any]]:
    """As :func:`flatten_fun`, with the structure of the arguments by position.

    Example:
        >>> from plugjax import api_util, tree
        >>> from plugjax.extend import linear_util as lu
        >>> flat, _ = api_util.flatten_fun_nokwargs(lu.wrap_init(lambda xy: xy[::-1]), tree.structure(((1, 2),)))
        >>> flat.call_wrapped(3, 4)
        [4, 3]
    """
    return _flatten_fun_nokwargs(f, in_tree)


@lu.transformation2
def _with_fixed(
    f: Callable[..., Any],
    places: tuple[int, ...],
    fixed: tuple[_Fixed, ...],
    *dyn_args: Any,
    **kwargs: Any,
) -> Any:
    others = [x.value for x in fixed]
    given = dict(zip(places, dyn_args, strict=True))
    return f(*with_fixed(given, others, len(others) + len(given)), **kwargs)


class _Fixed:
    """An argument that stays as it is, compared with its type: 1 and 1.0 are two."""

    __slots__ = ("hashable", "place", "value")

    def __init__(self, place: int, value: Any, hashable: bool) -> None:
        self.place = place
        self.value = value
        self.hashable = hashable

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Fixed):
            return False
        if not self.hashable:
            return self.value is other.value
        return type(self.value) is type(other.value) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash((self.place, self.value if self.hashable else id(self.value)))


def argnums_partial(
    f: lu.WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[lu.WrappedFun, tuple[Any, ...]]:
    """A call as a function of some of its arguments, and those arguments.

    Args:
        f: the function.
        dyn_argnums: positions of the arguments that it becomes a function of.
        args: all arguments by position.
        require_static_args_hashable: whether the others need a hash.

    Raises:
        ValueError: a number is out of range, or an argument that stays as it is has no hash.

    Example:
        >>> from plugjax.api_util import argnums_partial
        >>> from plugjax.extend import linear_util as lu
        >>> f, dyn = argnums_partial(lu.wrap_init(lambda x, y: x - y), 1, (10, 3))
        >>> f.call_wrapped(4), dyn
        (6, (3,))
    """
    nums = (dyn_argnums,) if isinstance(dyn_argnums, int) else tuple(dyn_argnums)
    for n in nums:
        if not -len(args) <= n < len(args):
            raise ValueError(
                f"argnums_partial: Positional argument indices must be at least -{len(args)} and below {len(args)}, the "
                f"number of arguments; got {n}."
            )
    places = tuple(n % len(args) for n in nums)
    fixed = []
    for i, x in enumerate(args):
        if i in places:
            continue
        if require_static_args_hashable and not _has_hash(x):
            raise ValueError(
                f"argnums_partial: Non-hashable static arguments are not supported, got one of type {type(x)} at index {i} "
                f"of {f.__name__}. Make it hashable, or differentiate or map it."
            )
        fixed.append(_Fixed(i, x, require_static_args_hashable))
    return _with_fixed(f, places, tuple(fixed)), tuple(args[i] for i in places)


def _has_hash(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def donation_vector(
    donate_argnums: Collection[int],
    donate_argnames: Collection[Hashable],
    in_tree: Any,
    kws: bool = True,
) -> tuple[bool, ...]:
    """Whether each leaf of the arguments is donated.

    Args:
        donate_argnums: positions of donated arguments.
        donate_argnames: their names.
        in_tree: structure of ``(args, kwargs)``; of ``args`` alone if ``kws`` is false.
        kws: whether there are keyword arguments.

    Example:
        >>> from plugjax import api_util, tree
        >>> api_util.donation_vector((1,), (), tree.structure(((1, (2, 3)), {"a": 4})))
        (False, True, True, False)
    """
    marked = pytree.unflatten(in_tree, range(in_tree.num_leaves))
    args, kwargs = marked if kws else (marked, {})
    found = [i in donate_argnums for i, arg in enumerate(args) for _ in pytree.leaves(arg)]
    found += [
        name in donate_argnames for name in sorted(kwargs) for _ in pytree.leaves(kwargs[name])
    ]
    return tuple(found)


def rebase_donate_argnums(
    donate_argnums: Iterable[int], static_argnums: Iterable[int]
) -> tuple[int, ...]:
    """Positions of donated arguments among those that are not static.

    Raises:
        ValueError: an argument is both.

    Example:
        >>> from plugjax.api_util import rebase_donate_argnums
        >>> rebase_donate_argnums((3, 4), (0, 1))
        (1, 2)
    """
    donated, static = sorted(set(donate_argnums)), sorted(set(static_argnums))
    if set(donated) & set(static):
        raise ValueError(
            f"rebase_donate_argnums: static_argnums {static} and donate_argnums {donated} cannot intersect. Name an argument "
            "in one of them."
        )
    return tuple(n - sum(s < n for s in static) for n in donated)


def flatten_axes(
    name: str, treedef: Any, axis_tree: Any, *, kws: bool = False, tupled_args: bool = False
) -> list[Any]:
    """One axis for each leaf of a structure.

    Args:
        name: of the specification, for messages.
        treedef: the structure.
        axis_tree: a prefix of it, with an int or ``None`` in the place of leaves or of whole parts.
        kws: whether the structure is that of ``(args, kwargs)``; messages speak of ``args``.
        tupled_args: whether it is that of a tuple of arguments; messages say so.

    Raises:
        ValueError: ``axis_tree`` is no prefix.

    Example:
        >>> from plugjax import api_util, tree
        >>> api_util.flatten_axes("in_axes", tree.structure(((1, 2), 3)), (0, None))
        [0, 0, None]
    """
    full = pytree.unflatten(treedef, range(treedef.num_leaves))
    try:
        return broadcast_prefix(axis_tree, full, is_leaf=lambda x: x is None)
    except ValueError:
        of_args = axis_tree[0] if kws and isinstance(axis_tree, tuple) else axis_tree
        hint = " Wrap it in a tuple with one entry for each argument." if tupled_args else ""
        raise ValueError(
            f"{name} specification must be a tree prefix of the corresponding value: {of_args} is none of {treedef}.{hint}"
        ) from None


def shaped_abstractify(x: Any) -> Any:
    """The aval of a value.

    Raises:
        TypeError: it is no array.

    Example:
        >>> from plugjax.api_util import shaped_abstractify
        >>> shaped_abstractify(1.0)
        ShapedArray(float32[], weak_type=True)
    """
    return aval_of(x)


__all__ = [
    "argnums_partial",
    "debug_info",
    "donation_vector",
    "flatten_axes",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "rebase_donate_argnums",
    "safe_map",
    "shaped_abstractify",
]

show_only(globals(), __all__)
