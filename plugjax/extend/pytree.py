"""Trees of containers: flatten, unflatten, paths."""

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
from plugjax.transforms.tree_differences import first_difference

__all__ = [
    "NAMESPACE",
    "PyTreeDef",
    "broadcast_prefix",
    "first_difference",
    "flatten",
    "leaves",
    "paths",
    "paths_of",
    "register",
    "structure",
    "tree_map",
    "unflatten",
]
