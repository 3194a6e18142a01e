"""Words for the difference of two pytree structures, for errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.core.pytree import NAMESPACE, PyTreeDef, structure


def first_difference(a: PyTreeDef, b: PyTreeDef) -> str:
    """Words for two structures that differ, and for the first place where they do."""
    return f"expected {_plain(a)}, got {_plain(b)}; {_difference(a, b, '')}"


def prefix_difference(prefix: Any, tree: PyTreeDef) -> str:
    """Words for the first place where a tree of axes or the like is no prefix of a structure, ``None`` being a leaf of it."""
    wanted = structure(prefix, lambda x: x is None)
    return f"but {_plain(wanted)} came for {_plain(tree)}; {_difference(wanted, tree, '', True)}"


def map_difference(tree: Any, others: Sequence[Any], is_leaf: Any = None) -> str | None:
    """Words for the first of several trees that does not begin with the structure of a tree; ``None`` if all do."""
    wanted = structure(tree, is_leaf)
    for i, other in enumerate(others):
        try:
            wanted.flatten_up_to(other)
        except ValueError:
            found = structure(other)
            kind = _kind(wanted, found)
            return (
                f"pytree structure error: {kind} in tree {i + 2}: expected {_plain(wanted)}, got {_plain(found)}; "
                f"{_difference(wanted, found, '', True)}"
            )
    return None


def _kind(a: PyTreeDef, b: PyTreeDef) -> str:
    """What differs first, in JAX's words."""
    if a.type is not b.type:
        return "different types"
    if a.num_children != b.num_children and not (a.type is not None and issubclass(a.type, dict)):
        return "different lengths"
    if a.entries() != b.entries():
        return "different pytree metadata"
    for child, other in zip(a.children(), b.children(), strict=True):
        if not child.is_leaf() and child != other:
            return _kind(child, other)
    return "different pytree metadata"


def _difference(a: PyTreeDef, b: PyTreeDef, path: str, prefix: bool = False) -> str:
    place = f"at {path}" if path else "at the top"
    if a.type is not b.type or a.entries() != b.entries():
        return f"{place} the former has {_node(a)}, the latter {_node(b)}"
    level = a.one_level()
    steps = [] if level is None else level.accessors()
    for step, child, other in zip(steps, a.children(), b.children(), strict=True):
        if child != other and not (prefix and _begins(child, other)):
            return _difference(child, other, path + step.codify(""), prefix)
    return f"{place} the metadata of {_node(a)} differ"


def _begins(prefix: PyTreeDef, tree: PyTreeDef) -> bool:
    if prefix.is_leaf():
        return True
    if prefix.type is not tree.type or prefix.entries() != tree.entries():
        return False
    return all(map(_begins, prefix.children(), tree.children()))


def _node(treedef: PyTreeDef) -> str:
    kind = treedef.type
    if kind is None:
        return "a leaf"
    if kind is type(None):
        return "None"
    words = f"a {kind.__name__} of {treedef.num_children}"
    return f"{words} with keys {treedef.entries()}" if issubclass(kind, dict) else words


def _plain(treedef: PyTreeDef) -> str:
    text = str(treedef)
    return text.removeprefix("PyTreeSpec").replace(f", namespace='{NAMESPACE}'", "")
