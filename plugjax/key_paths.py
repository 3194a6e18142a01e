"""Paths in pytrees: tuples of keys that lead to each leaf.

Keys print as Python writes the step: ``['w']``, ``[0]``, ``.name``. A container class may register functions for its
keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import optree

from plugjax.core import pytree


@dataclass(frozen=True)
class SequenceKey:
    """A position in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True)
class DictKey:
    """A key of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True)
class GetAttrKey:
    """An attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True)
class FlattenedIndexKey:
    """A child of a container without registered keys, by number."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyPath: TypeAlias = tuple[Any, ...]
_with_keys: dict[type[Any], Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]]] = {}


def register_keys(
    kind: type[Any], flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]]
) -> None:
    """Register the keys of a container class: ``container -> ((key, child) pairs, metadata)``."""
    _with_keys[kind] = flatten_with_keys


def is_container(kind: type[Any]) -> bool:
    """Whether instances of a class are containers."""
    return kind is type(None) or (
        optree.register_pytree_node.get(kind, namespace=pytree.NAMESPACE) is not None
        or optree.is_namedtuple_class(kind)
    )


def one_level(tree: Any) -> tuple[list[Any], Any]:
    """Children of a container, and its metadata.

    Raises:
        ValueError: ``tree`` is a leaf.
    """
    if not is_container(type(tree)):
        raise ValueError(
            f"a leaf has no level to flatten: {type(tree)} is no registered container."
        )
    found = optree.tree_flatten_one_level(tree, namespace=pytree.NAMESPACE)
    metadata = found.metadata
    if isinstance(tree, dict):
        # Hashable, unlike optree's list.
        keys = tuple(found.entries)
        metadata = (tree.default_factory, keys) if isinstance(tree, defaultdict) else keys
    return list(found.children), metadata


def keyed_children(tree: Any) -> list[tuple[Any, Any]]:
    """Pairs of key and child of a container."""
    kind = type(tree)
    own = _with_keys.get(kind)
    if own is not None:
        return [(key, child) for key, child in own(tree)[0]]
    children, _ = one_level(tree)
    if optree.is_namedtuple_class(kind):
        return list(zip(map(GetAttrKey, kind._fields), children, strict=True))
    if isinstance(tree, dict):
        level: Any = tree
        entries = optree.tree_flatten_one_level(level, namespace=pytree.NAMESPACE).entries
        return list(zip(map(DictKey, entries), children, strict=True))
    numbered = SequenceKey if isinstance(tree, (list, tuple)) else FlattenedIndexKey
    return list(zip(map(numbered, range(len(children))), children, strict=True))


def leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Leaves of a tree with their paths, from left to right."""

    def walk(node: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
        if is_leaf is not None and (is_leaf(path, node) if is_leaf_takes_path else is_leaf(node)):
            yield path, node
        elif is_container(type(node)):
            for key, child in keyed_children(node):
                yield from walk(child, (*path, key))
        else:
            yield path, node

    return list(walk(tree, ()))


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as text.

    Args:
        keys: the path.
        simple: whether to write keys bare, without brackets and dots.
        separator: text between keys.

    Example:
        >>> keystr((DictKey("w"), SequenceKey(0)))
        "['w'][0]"
        >>> keystr((DictKey("w"), SequenceKey(0)), simple=True, separator="/")
        'w/0'
    """
    return separator.join(map(_bare if simple else str, keys))


def _bare(key: Any) -> str:
    for name in ("idx", "name", "key"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return str(key)
