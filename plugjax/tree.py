"""Pytrees under the names of ``jax.tree``."""

from __future__ import annotations

import dataclasses
from typing import Any

from plugjax.extend.transforms import publish
from plugjax.tree_util import (
    tree_all as all,
    tree_broadcast as broadcast,
    tree_flatten as flatten,
    tree_flatten_with_path as flatten_with_path,
    tree_leaves as leaves,
    tree_leaves_with_path as leaves_with_path,
    tree_map as map,
    tree_map_with_path as map_with_path,
    tree_reduce as reduce,
    tree_reduce_associative as reduce_associative,
    tree_structure as structure,
    tree_transpose as transpose,
    tree_unflatten as unflatten,
)


def static(**kwargs: Any) -> Any:
    """A dataclass field that is metadata of the container; arguments as of ``dataclasses.field``.

    Example:
        >>> from plugjax import tree
        >>> import dataclasses
        >>> from plugjax import tree_util
        >>> @tree_util.register_dataclass
        ... @dataclasses.dataclass
        ... class Layer:
        ...     weight: float
        ...     name: str = tree.static()
        >>> tree.leaves(Layer(1.0, "first"))
        [1.0]
    """
    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)


__all__ = [
    "all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path", "map", "map_with_path", "reduce",
    "reduce_associative", "static", "structure", "transpose", "unflatten",
]  # fmt: skip

publish(globals(), __all__)
