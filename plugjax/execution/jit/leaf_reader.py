"""Reading the leaves of a tree whose structure is known: a function is written for the structure, and checks it as it goes.

To flatten a dict of a hundred arrays takes longer than to look the hundred up: `jit` guesses that a call has the structure of the one
before it.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from plugjax.core.pytree import PyTreeDef

Reader = Callable[[Any], list[Any]]


class _UnreadableError(Exception):
    """A node that only the library of pytrees can take apart."""


def leaf_reader(treedef: PyTreeDef) -> Reader | None:
    """A function from a tree to its leaves.

    ``None`` unless the structure has only tuples, lists, ``None``, and dicts whose keys are all strings or all integers.

    The function raises LookupError for a tree of another structure, but takes anything for a leaf: the caller finds out whether it
    is one.

    Example:
        >>> from plugjax.extend import pytree
        >>> read = leaf_reader(pytree.structure({"b": 0, "a": [0, 0]}))
        >>> read({"b": 3, "a": [1, 2]})
        [1, 2, 3]
    """
    writer = _Writer()
    try:
        writer.node("tree", treedef)
    except _UnreadableError:
        return None
    lines = [*writer.lines, f"return [{', '.join(writer.leaves)}]"]
    source = "def read(tree):\n" + "".join(f"    {line}\n" for line in lines)
    scope: dict[str, Any] = dict(writer.getters)
    exec(compile(source, "<leaf reader>", "exec"), scope)  # made of names and numbers only
    read: Reader = scope["read"]
    return read


class _Writer:
    """The lines of a function that reads leaves, and what they refer to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.getters: dict[str, Any] = {}
        self._names = 0

    def _name(self) -> str:
        self._names += 1
        return f"x{self._names}"

    def node(self, name: str, treedef: PyTreeDef) -> None:
        """Write how the node called ``name`` is checked and taken apart."""
        kind = treedef.type
        if kind is None:
            self.leaves.append(name)
            return
        if kind is type(None):
            self.lines.append(f"if {name} is not None: raise LookupError")
            return
        if kind not in (tuple, list, dict):
            raise _UnreadableError
        children = treedef.children()
        wanted = f"type({name}) is not {kind.__name__} or len({name}) != {len(children)}"
        self.lines.append(f"if {wanted}: raise LookupError")
        parts = self._values(name, treedef.entries()) if kind is dict and children else name
        if all(child.type is None for child in children):
            self.leaves.append(f"*{parts}")
            return
        names = [self._name() for _ in children]
        self.lines.append(f"{', '.join(names)}, = {parts}")
        for child_name, child in zip(names, children, strict=True):
            self.node(child_name, child)

    def _values(self, name: str, keys: list[Any]) -> str:
        # Keys of one such type have one order, in which their dict is flattened.
        if len(set(map(type, keys))) > 1 or type(keys[0]) not in (str, int):
            raise _UnreadableError
        getter = f"get{len(self.getters)}"
        self.getters[getter] = itemgetter(*keys)
        return f"{getter}({name})" if len(keys) > 1 else f"({getter}({name}),)"
