"""Pytrees under the names of ``jax.tree``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.core import pytree
from plugjax.core.pytree import PyTreeDef


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], PyTreeDef]:
    """Leaves of a tree, and its structure.

    Example:
        >>> import plugjax
        >>> plugjax.tree.flatten({"b": 2, "a": [1, None]})[0]
        [1, 2]
    """
    return pytree.flatten(tree, is_leaf)


def unflatten(treedef: PyTreeDef, leaves: Any) -> Any:
    """The tree with that structure and those leaves."""
    return pytree.unflatten(treedef, leaves)


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """Leaves of a tree, from left to right.

    Example:
        >>> import plugjax
        >>> plugjax.tree.leaves((1, [2, (3,)]))
        [1, 2, 3]
    """
    return pytree.leaves(tree, is_leaf)


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef:
    """Structure of a tree."""
    return pytree.structure(tree, is_leaf)


def map(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Apply ``f`` to corresponding leaves of trees.

    Example:
        >>> import plugjax
        >>> plugjax.tree.map(lambda x, y: x + y, [1, 2], [10, 20])
        [11, 22]
    """
    return pytree.tree_map(f, tree, *rest, is_leaf=is_leaf)


def reduce(f: Callable[[Any, Any], Any], tree: Any, *initializer: Any) -> Any:
    """Fold the leaves of a tree from left to right."""
    found = [*initializer, *pytree.leaves(tree)]
    if not found:
        raise TypeError("reduce() of empty tree with no initial value")
    result = found[0]
    for leaf in found[1:]:
        result = f(result, leaf)
    return result


def all(tree: Any, *, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether every leaf is true."""
    return not [leaf for leaf in pytree.leaves(tree, is_leaf) if not leaf]
