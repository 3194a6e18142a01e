"""Trees of containers: flatten, unflatten, paths, what containers are made of."""

from __future__ import annotations

from plugjax.core.pytree import (
    NAMESPACE,
    PyTreeDef,
    flatten,
    leaves,
    paths,
    paths_of,
    register,
    structure,
    tree_map,
    unflatten,
)
from plugjax.transforms.prefixes import broadcast_prefix
from plugjax.transforms.tree_differences import first_difference, map_difference, prefix_difference
from plugjax.transforms.tree_nodes import node_data, unflatten_function

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
