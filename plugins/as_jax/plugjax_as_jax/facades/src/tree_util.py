"""``jax._src.tree_util``: the classes that are registered as nodes of trees."""

from __future__ import annotations

from plugjax import tree_util


class _Registered:
    """The classes of nodes, as a container."""

    def __contains__(self, kind: object) -> bool:
        return isinstance(kind, type) and tree_util.is_tree_node(kind)


_registry = _Registered()
