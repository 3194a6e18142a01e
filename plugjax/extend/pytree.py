"""Trees of containers: flatten, unflatten, paths, what containers are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import optree

from plugjax.core.pytree import (
    NAMESPACE,
    PyTreeDef,
    broadcast_prefix,
    flatten,
    leaves,
    paths,
    paths_of,
    register,
    structure,
    tree_map,
    unflatten,
)
from plugjax.transforms.tree_differences import first_difference, map_difference, prefix_difference

__all__ = [
    "NAMESPACE",
    "PyTreeDef",
    "broadcast_prefix",
    "first_difference",
    "flatten",
    "leaves",
    "map_difference",
    "node_data",
    "paths",
    "paths_of",
    "prefix_difference",
    "register",
    "structure",
    "tree_map",
    "unflatten",
    "unflatten_function",
]


def node_data(treedef: PyTreeDef) -> tuple[type[Any], Any] | None:
    """The class of the outermost container and what of it is no child: the keys of a dict, for one; ``None`` for a leaf."""
    if treedef.is_leaf():
        return None
    # optree gives the metadata to pickle alone. The outermost node is the last one.
    state: Any = treedef.__getstate__()
    kind: Any = treedef.type
    return kind, state[0][-1][2]


def unflatten_function(kind: type[Any]) -> Callable[[Any, Iterable[Any]], Any] | None:
    """``(metadata, children) -> container`` of a registered class, ``None`` if it is not registered."""
    entry: Any = optree.register_pytree_node.get(kind, namespace=NAMESPACE)
    return None if entry is None else entry.unflatten_func
