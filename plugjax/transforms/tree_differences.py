"""Words for the difference of two pytree structures, for errors."""

from __future__ import annotations

from plugjax.core.pytree import NAMESPACE, PyTreeDef


def first_difference(a: PyTreeDef, b: PyTreeDef) -> str:
    """Words for two structures that differ, and for the first place where they do."""
    return f"expected {_plain(a)}, got {_plain(b)}; {_difference(a, b, '')}"


def _difference(a: PyTreeDef, b: PyTreeDef, path: str) -> str:
    place = f"at {path}" if path else "at the top"
    if a.type is not b.type or a.entries() != b.entries():
        return f"{place} the former has {_node(a)}, the latter {_node(b)}"
    level = a.one_level()
    steps = [] if level is None else level.accessors()
    for step, child, other in zip(steps, a.children(), b.children(), strict=True):
        if child != other:
            return _difference(child, other, path + step.codify(""))
    return f"{place} the metadata of {_node(a)} differ"


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
