"""Trees that begin like others: one value may stand for all leaves below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.core.pytree import flatten, leaves


def broadcast_prefix(
    prefix: Any, full: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[Any]:
    """One leaf of ``prefix`` for each leaf of ``full``, of which it is a prefix.

    Args:
        prefix: the prefix.
        full: the tree.
        is_leaf: which nodes of the prefix, beside leaves, stand for themselves, such as ``None``.

    Raises:
        ValueError: ``prefix`` is no prefix of ``full``.
    """
    found, treedef = flatten(prefix, is_leaf)
    return [
        leaf
        for leaf, subtree in zip(found, treedef.flatten_up_to(full), strict=True)
        for _ in leaves(subtree)
    ]
