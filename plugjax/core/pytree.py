"""Pytrees: nested containers, flattened to leaves and rebuilt. On optree, with a namespace of our own.

As in JAX, ``None`` is a container without leaves, and dicts are ordered by key.
"""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import optree

NAMESPACE = "plugjax"
PyTreeDef: TypeAlias = optree.PyTreeSpec
_OWN = {optree.PyTreeKind.CUSTOM, optree.PyTreeKind.DEFAULTDICT}


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], PyTreeDef]:
    """Leaves of a tree from left to right, and its structure."""
    leaves, treedef = optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    return leaves, treedef


def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree with that structure and those leaves; its dicts have the order of their keys."""
    return in_key_order(treedef).unflatten(leaves)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Leaves of a tree from left to right."""
    return optree.tree_leaves(tree, is_leaf, namespace=NAMESPACE)


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef:
    """Structure of a tree."""
    return optree.tree_structure(tree, is_leaf, namespace=NAMESPACE)


def in_key_order(treedef: PyTreeDef) -> PyTreeDef:
    """An equal structure whose dicts are rebuilt in the order of their keys, not in that of the dict that was flattened."""
    try:
        ordered = _ordering(treedef)
    except TypeError:  # A container with metadata that has no hash.
        ordered = _ordered
    return ordered(treedef)


@functools.lru_cache(1024)
def _ordering(treedef: PyTreeDef) -> Callable[[PyTreeDef], PyTreeDef]:
    """What orders the keys of any structure that equals this one."""
    nodes = [treedef]
    for node in nodes:
        nodes += node.children()
    if not any(node.type in (dict, defaultdict) for node in nodes):
        return lambda found: found
    # Equal keys and equal metadata of a program's own classes may be different objects.
    keys = [key for node in nodes if node.type is dict for key in node.entries()]
    if {node.kind for node in nodes} & _OWN or any(type(key) is not str for key in keys):
        return _ordered
    once = _ordered(treedef)
    return lambda _: once


def _with_sorted_keys(node: PyTreeDef) -> PyTreeDef:
    if node.type not in (dict, defaultdict):
        return node
    keys = node.entries()
    found: Any = node.unflatten(keys)
    if list(found) == keys:
        return node
    children = dict(zip(keys, node.children(), strict=True))
    if node.type is dict:
        return optree.treespec_dict(children, namespace=NAMESPACE)
    return optree.treespec_defaultdict(found.default_factory, children, namespace=NAMESPACE)


def _ordered(treedef: PyTreeDef) -> PyTreeDef:
    return treedef.transform(_with_sorted_keys)


def tree_map(
    function: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Apply ``function`` to corresponding leaves.

    Raises:
        ValueError: the trees differ in structure.
    """
    found, treedef = flatten(tree, is_leaf)
    return unflatten(treedef, map(function, found, *map(treedef.flatten_up_to, rest)))


def register(
    kind: type[Any],
    flatten_node: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_node: Callable[[Any, Iterable[Any]], Any],
) -> None:
    """Make a class a container.

    Args:
        kind: the class.
        flatten_node: gives its children, and what of it is no child: hashable and comparable.
        unflatten_node: the container from the latter and children.
    """
    with warnings.catch_warnings():
        # Of named tuples, which are containers already: a class of them may have functions of its own.
        warnings.filterwarnings("ignore", "PyTree type .* is a subclass of", UserWarning)
        optree.register_pytree_node(kind, flatten_node, unflatten_node, namespace=NAMESPACE)


def paths(tree: Any) -> list[str]:
    """The path of each leaf, as Python writes it: ``['w'][0]``."""
    return paths_of(structure(tree))


def paths_of(treedef: PyTreeDef) -> list[str]:
    """The path of each leaf of a tree with that structure, which is not built: its classes may refuse what is no array."""
    return [accessor.codify("") for accessor in treedef.accessors()]
