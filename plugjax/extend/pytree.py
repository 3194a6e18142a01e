"""Trees of containers: flatten, unflatten, paths."""

from plugjax.core.pytree import (
    NAMESPACE,
    PyTreeDef,
    broadcast_prefix,
    first_difference,
    flatten,
    leaves,
    paths,
    paths_of,
    register,
    structure,
    tree_map,
    unflatten,
)

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
