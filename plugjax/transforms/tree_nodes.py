"""The outermost container of a tree: its class, what of it is no child, and the functions that take it apart and rebuild it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import optree

from plugjax.core.pytree import NAMESPACE, PyTreeDef


def node_data(treedef: PyTreeDef) -> tuple[type[Any], Any] | None:
    """The class of the outermost container and what of it is no child: the keys of a dict, for one; ``None`` for a leaf."""
    if treedef.is_leaf():
        return None
    # optree gives the metadata to pickle alone. The outermost node is the last one.
    state: Any = treedef.__getstate__()
    kind: Any = treedef.type
    return kind, state[0][-1][2]


def flatten_function(kind: type[Any]) -> Callable[[Any], tuple[Any, ...]] | None:
    """``container -> (children, metadata, ...)`` of a registered class, ``None`` if it is not registered."""
    entry: Any = optree.register_pytree_node.get(kind, namespace=NAMESPACE)
    return None if entry is None else entry.flatten_func


def unflatten_function(kind: type[Any]) -> Callable[[Any, Iterable[Any]], Any] | None:
    """``(metadata, children) -> container`` of a registered class, ``None`` if it is not registered."""
    entry: Any = optree.register_pytree_node.get(kind, namespace=NAMESPACE)
    return None if entry is None else entry.unflatten_func
