"""Pytrees: the names of ``jax.tree_util``. Containers are registered here; all of plugjax sees them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import optree

from plugjax import key_paths
from plugjax.core import pytree
from plugjax.core.pytree import PyTreeDef
from plugjax.extend.transforms import publish
from plugjax.key_paths import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    SequenceKey,
    keystr,
)
from plugjax.transforms import prefixes
from plugjax.transforms.tree_differences import first_difference, map_difference

T = TypeVar("T")
KeyEntry = TypeVar("KeyEntry", bound=Hashable)
IsLeaf = Callable[..., bool] | None
_MISSING = object()


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """Leaves of a tree from left to right, and its structure.

    Example:
        >>> tree_flatten({"b": 2, "a": (1, None)})[0]
        [1, 2]
    """
    return pytree.flatten(tree, is_leaf)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree with that structure and those leaves.

    Example:
        >>> from plugjax import tree_util
        >>> tree_util.tree_unflatten(tree_util.tree_structure({"a": 1}), [5])
        {'a': 5}
    """
    return pytree.unflatten(treedef, leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """Leaves of a tree from left to right.

    Example:
        >>> from plugjax import tree_util
        >>> tree_util.tree_leaves({"b": 2, "a": [1]})
        [1, 2]
    """
    return pytree.leaves(tree, is_leaf)


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """Structure of a tree.

    Example:
        >>> from plugjax import tree_util
        >>> tree_util.tree_structure({"a": 1}).num_leaves
        1
    """
    return pytree.structure(tree, is_leaf)


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply ``f`` to corresponding leaves.

    Raises:
        ValueError: a tree of ``rest`` does not begin with the structure of ``tree``.

    Example:
        >>> tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)])
        [11, (22,)]
    """
    try:
        return pytree.tree_map(f, tree, *rest, is_leaf=is_leaf)
    except ValueError:
        # It may be an error of the function.
        different = map_difference(tree, rest, is_leaf)
        if different is None:
            raise
        raise ValueError(f"tree.map: {different}.") from None


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether every leaf is true.

    Example:
        >>> from plugjax import tree_util
        >>> tree_util.tree_all({"a": True, "b": [False]})
        False
    """
    return all(pytree.leaves(tree, is_leaf))


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _MISSING,
    is_leaf: IsLeaf = None,
) -> Any:
    """Fold the leaves from left to right.

    Raises:
        TypeError: no leaves and no ``initializer``.

    Example:
        >>> tree_reduce(lambda x, y: x - y, [1, (2, 3)])
        -4
    """
    leaves = pytree.leaves(tree, is_leaf)
    if initializer is _MISSING:
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _MISSING,
    is_leaf: IsLeaf = None,
) -> Any:
    """Fold the leaves by halves, for an associative operation: logarithmic depth.

    Raises:
        TypeError: no leaves and no ``identity``.

    Example:
        >>> from plugjax import tree_util
        >>> tree_util.tree_reduce_associative(max, {"a": 1, "b": [3, 2]})
        3
    """
    found = pytree.leaves(tree, is_leaf)
    if not found:
        if identity is _MISSING:
            raise TypeError("tree_reduce_associative of an empty tree needs an identity")
        return identity
    while len(found) > 1:
        pairs = [operation(a, b) for a, b in zip(found[::2], found[1::2], strict=False)]
        found = pairs + found[len(found) // 2 * 2 :]
    return found[0]


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """The leaves of ``prefix_tree``, repeated to the structure of ``full_tree``.

    Raises:
        ValueError: the former is not a prefix of the latter.

    Example:
        >>> tree_broadcast((1, 2), ([0, 0], 0))
        ([1, 1], 2)
    """
    leaves = prefixes.broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return pytree.unflatten(pytree.structure(full_tree), leaves)


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turn a tree of trees inside out.

    Args:
        outer_treedef: structure of the outer tree.
        inner_treedef: structure of the trees in it; ``None``: that of the first.
        pytree_to_transpose: the tree.

    Raises:
        TypeError: the tree has another structure.

    Example:
        >>> tree_transpose(tree_structure([0, 0]), None, [(1, 2), (3, 4)])
        ([1, 3], [2, 4])
    """
    flat, treedef = pytree.flatten(pytree_to_transpose)
    inner = inner_treedef
    if inner is None:
        inner = pytree.structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    expected = outer_treedef.compose(inner)
    if treedef != expected:
        raise TypeError(f"Mismatch: {first_difference(expected, treedef)}.")
    size = inner.num_leaves
    return pytree.unflatten(
        inner, [pytree.unflatten(outer_treedef, flat[i::size]) for i in range(size)]
    )


def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Pairs of path and leaf, and the structure.

    Example:
        >>> tree_flatten_with_path({"a": [1]})[0]
        [((DictKey(key='a'), SequenceKey(idx=0)), 1)]
    """
    if is_leaf is None or not is_leaf_takes_path:
        return key_paths.leaves_with_path(tree, is_leaf), pytree.structure(tree, is_leaf)
    # Both traversals visit nodes in the same order: a leaf by its path is a leaf here too.
    verdicts: list[bool] = []

    def recorded(path: KeyPath, node: Any) -> bool:
        verdicts.append(bool(is_leaf(path, node)))
        return verdicts[-1]

    found = key_paths.leaves_with_path(tree, recorded, True)
    again = iter(verdicts)
    return found, pytree.structure(tree, lambda _: next(again))


def tree_leaves_with_path(
    tree: Any, is_leaf: IsLeaf = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Pairs of path and leaf.

    Example:
        >>> from plugjax import tree_util
        >>> [(tree_util.keystr(path), leaf) for path, leaf in tree_util.tree_leaves_with_path({"a": [1]})]
        [("['a'][0]", 1)]
    """
    return key_paths.leaves_with_path(tree, is_leaf, is_leaf_takes_path)


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Apply ``f`` to the path of each leaf and corresponding leaves.

    Example:
        >>> tree_map_with_path(lambda path, x: keystr(path) + str(x), {"a": [1]})
        {'a': ["['a'][0]1"]}
    """
    found, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    try:
        others = [treedef.flatten_up_to(r) for r in rest]
    except ValueError:
        different = map_difference(tree, rest, is_leaf)
        raise ValueError(f"tree.map_with_path: {different}.") from None
    return pytree.unflatten(
        treedef, [f(path, leaf, *more) for (path, leaf), *more in zip(found, *others, strict=True)]
    )


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Structures of the children of the root.

    Example:
        >>> from plugjax import tree_util
        >>> len(tree_util.treedef_children(tree_util.tree_structure([1, 2])))
        2
    """
    return list(treedef.children())


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is that of a leaf, or of ``None``.

    Example:
        >>> from plugjax import tree_util
        >>> tree_util.treedef_is_leaf(tree_util.tree_structure(1))
        True
    """
    return bool(treedef.num_nodes == 1)


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees of these structures.

    Example:
        >>> from plugjax import tree_util
        >>> tree_util.treedef_tuple([tree_util.tree_structure(1)] * 2).num_leaves
        2
    """
    return optree.treespec_tuple(treedefs, namespace=pytree.NAMESPACE)


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether nothing in a sequence is a container.

    Example:
        >>> from plugjax import tree_util
        >>> tree_util.all_leaves([1, 2.0])
        True
    """
    return optree.all_leaves(iterable, is_leaf, namespace=pytree.NAMESPACE)


def is_tree_node(typ: type) -> bool:
    """Whether instances of a class are containers.

    Example:
        >>> from plugjax import tree_util
        >>> tree_util.is_tree_node(list)
        True
    """
    return isinstance(typ, type) and key_paths.is_container(typ)


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """Children of a container, and its metadata.

    Raises:
        ValueError: ``tree`` is a leaf.

    Example:
        >>> from plugjax import tree_util
        >>> tree_util.flatten_one_level((1, [2]))[0]
        [1, [2]]
    """
    return key_paths.one_level(tree)


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Hashable]:
    """Pairs of key and child of a container, and its metadata.

    Raises:
        ValueError: ``tree`` is a leaf.

    Example:
        >>> from plugjax import tree_util
        >>> tree_util.flatten_one_level_with_keys((1, [2]))[0]
        [(SequenceKey(idx=0), 1), (SequenceKey(idx=1), [2])]
    """
    metadata = key_paths.one_level(tree)[1]
    return key_paths.keyed_children(tree), metadata


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make a class a container.

    Args:
        nodetype: the class.
        flatten_func: ``container -> (children, metadata)``; metadata is hashable and comparable.
        unflatten_func: ``(metadata, children) -> container``.
        flatten_with_keys_func: ``container -> (pairs of key and child, metadata)``.

    Raises:
        ValueError: the class is a container already.

    Example:
        >>> from plugjax import tree_util
        >>> class Pair:
        ...     def __init__(self, a, b):
        ...         self.a, self.b = a, b
        >>> tree_util.register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda _, c: Pair(*c))
        >>> tree_util.tree_leaves(Pair(1, 2))
        [1, 2]
    """

    def flatten(node: T) -> tuple[Iterable[Any], Any]:
        children, metadata = flatten_func(node)
        return tuple(children), metadata

    pytree.register(
        nodetype, flatten, lambda metadata, children: unflatten_func(metadata, tuple(children))
    )
    if flatten_with_keys_func is not None:
        key_paths.register_keys(nodetype, flatten_with_keys_func)


def register_pytree_node_class(cls: type[T]) -> type[T]:
    """Decorator: make a class with methods ``tree_flatten`` and ``tree_unflatten`` a container.

    Example:
        >>> from plugjax import tree_util
        >>> @tree_util.register_pytree_node_class
        ... class Point:
        ...     def __init__(self, x):
        ...         self.x = x
        ...     def tree_flatten(self):
        ...         return (self.x,), None
        ...     @classmethod
        ...     def tree_unflatten(cls, _, children):
        ...         return cls(*children)
        >>> tree_util.tree_leaves(Point(3))
        [3]
    """
    register_pytree_node(cls, lambda node: node.tree_flatten(), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make a class a container whose children have keys.

    Example:
        >>> from plugjax import tree_util
        >>> class Box:
        ...     def __init__(self, x):
        ...         self.x = x
        >>> key = tree_util.GetAttrKey("x")
        >>> tree_util.register_pytree_with_keys(Box, lambda b: (((key, b.x),), None), lambda _, c: Box(*c))
        >>> tree_util.keystr(tree_util.tree_leaves_with_path(Box(3))[0][0])
        '.x'
    """

    def without_keys(node: T) -> tuple[Iterable[Any], Any]:
        pairs, metadata = flatten_with_keys(node)
        return [child for _, child in pairs], metadata

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: type[T]) -> type[T]:
    """Decorator: as :func:`register_pytree_node_class`, with a method ``tree_flatten_with_keys``.

    Example:
        >>> from plugjax import tree_util
        >>> @tree_util.register_pytree_with_keys_class
        ... class Cell:
        ...     def __init__(self, x):
        ...         self.x = x
        ...     def tree_flatten_with_keys(self):
        ...         return ((tree_util.GetAttrKey("x"), self.x),), None
        ...     @classmethod
        ...     def tree_unflatten(cls, _, children):
        ...         return cls(*children)
        >>> tree_util.tree_leaves(Cell(3))
        [3]
    """
    flatten = getattr(cls, "tree_flatten", None)
    register_pytree_with_keys(
        cls,
        lambda node: node.tree_flatten_with_keys(),  # type: ignore[attr-defined]
        cls.tree_unflatten,  # type: ignore[attr-defined]
        None if flatten is None else lambda node: node.tree_flatten(),  # type: ignore[attr-defined]
    )
    return cls


def register_dataclass(
    nodetype: type[T],
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type[T]:
    """Make a dataclass a container.

    Args:
        nodetype: the class; another class than a dataclass needs both lists of fields.
        data_fields: fields that are children; without lists, those not marked ``static``.
        meta_fields: fields that are metadata.
        drop_fields: fields that are neither; rebuilt containers have their defaults.

    Raises:
        TypeError: one list of fields without the other, or none and no dataclass.
        ValueError: the lists do not name the fields that the class is made from.

    Example:
        >>> import dataclasses, plugjax
        >>> @register_dataclass
        ... @dataclasses.dataclass
        ... class Layer:
        ...     w: float
        ...     name: str = plugjax.tree.static(default="dense")
        >>> tree_map(lambda x: 2 * x, Layer(1.0))
        Layer(w=2.0, name='dense')
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            f"register_dataclass needs both data_fields and meta_fields, or neither; got {data_fields=} {meta_fields=}."
        )
    if data_fields is None or meta_fields is None:
        if not dataclasses.is_dataclass(nodetype):
            raise TypeError(
                f"register_dataclass: a class that is no dataclass needs data_fields and meta_fields; got {nodetype=}."
            )
        made = [f for f in dataclasses.fields(nodetype) if f.init]
        data_fields = [f.name for f in made if not f.metadata.get("static", False)]
        meta_fields = [f.name for f in made if f.metadata.get("static", False)]
    elif dataclasses.is_dataclass(nodetype):
        wanted = {f.name for f in dataclasses.fields(nodetype) if f.init} - set(drop_fields)
        given = {*data_fields, *meta_fields}
        if wanted != given:
            raise ValueError(
                "register_dataclass: data_fields and meta_fields need to name every field of the dataclass with init=True, and no "
                f"other. Missing: {sorted(wanted - given)}; unexpected: {sorted(given - wanted)}."
            )
    data, meta = tuple(data_fields), tuple(meta_fields)

    get_data, get_meta = _fields(data), _fields(meta)

    def flatten(node: T) -> tuple[Iterable[Any], Any]:
        return get_data(node), get_meta(node)

    def flatten_with_keys(node: T) -> tuple[Iterable[tuple[Any, Any]], Any]:
        children, metadata = flatten(node)
        return list(zip(map(GetAttrKey, data), children, strict=True)), metadata

    def unflatten(metadata: Any, children: Iterable[Any]) -> T:
        return nodetype(
            **dict(zip(data, children, strict=True)), **dict(zip(meta, metadata, strict=True))
        )

    register_pytree_node(nodetype, flatten, unflatten, flatten_with_keys)
    return nodetype


def _fields(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """A function from an object to its attributes of these names."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda node: tuple(getattr(node, name) for name in names)


def register_static(cls: type[T]) -> type[T]:
    """Decorator: make a class a container without leaves; its instances are hashable metadata.

    Example:
        >>> from plugjax import tree_util
        >>> @tree_util.register_static
        ... class Mode(str):
        ...     pass
        >>> tree_util.tree_leaves([Mode("train"), 1])
        [1]
    """
    register_pytree_node(cls, lambda node: ((), node), lambda node, _: node)
    return cls


class _Whole:
    """A function with arguments of its own that ``functools.partial`` must not take apart."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "function":
            raise AttributeError(name)
        return getattr(self.function, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Whole) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)


class Partial(functools.partial):  # type: ignore[type-arg]
    """``functools.partial`` as a container: its arguments are children, its function is metadata.

    The arguments of a ``functools.partial`` that is given as the function belong to the function.

    Example:
        >>> tree_leaves(Partial(max, 1, key=2))
        [1, 2]
        >>> tree_leaves(Partial(functools.partial(max, 1), 2))
        [2]
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Partial:
        """The container."""
        whole = _Whole(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, whole, *args, **kwargs)


register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)

default_registry = optree.register_pytree_node

__all__ = [
    "DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial", "PyTreeDef", "SequenceKey",
    "all_leaves", "default_registry", "flatten_one_level", "flatten_one_level_with_keys", "is_tree_node", "keystr",
    "register_dataclass", "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys",
    "register_pytree_with_keys_class", "register_static", "tree_all", "tree_broadcast", "tree_flatten",
    "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_with_path", "tree_reduce",
    "tree_reduce_associative", "tree_structure", "tree_transpose", "tree_unflatten", "treedef_children",
    "treedef_is_leaf", "treedef_tuple",
]  # fmt: skip

publish(globals(), __all__)
