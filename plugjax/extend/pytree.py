"""Trees of containers: flatten, unflatten, paths."""

from plugjax.core.pytree import (
    NAMESPACE,
    PyTreeDef,
    broadcast_prefix,
    flatten,
    leaves,
    node_data,
    paths,
    paths_of,
    register,
    structure,
    tree_map,
    unflatten,
    unflatten_function,
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
