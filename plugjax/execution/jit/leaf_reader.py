"""Reading the leaves of arguments whose structure is known: a function is written for the structure, and checks it as it goes.

To flatten a dict of a hundred arrays takes longer than to look the hundred up. So `jit` expects the structure of the call before.
A container of a program's own is taken apart by its own function, and must hold what the one before held beside its children.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from plugjax.core.pytree import PyTreeDef
from plugjax.transforms.tree_nodes import flatten_function, node_data

# From ``(args, kwargs)`` to the leaves, and types and values of the static arguments in turn.
Reader = Callable[[tuple[Any, ...], dict[str, Any]], tuple[list[Any], tuple[Any, ...]]]


class _UnreadableError(Exception):
    """A node that only the library of pytrees can take apart."""


def argument_reader(
    in_tree: PyTreeDef, positions: Sequence[int] = (), names: Sequence[str] = ()
) -> Reader | None:
    """A function from the arguments of a call to their leaves and static values.

    ``None`` if the structure has a dict whose keys are neither all strings nor all integers, or a container of Python's library of
    another class than tuples, lists and dicts.

    The function raises LookupError for arguments of another structure, but takes anything for a leaf: the caller finds out
    whether it is one.

    Args:
        in_tree: structure of ``(args, kwargs)`` without the static arguments.
        positions: of the static arguments, in order.
        names: of the static arguments that are given by name.

    Example:
        >>> from plugjax.extend import pytree
        >>> read = argument_reader(pytree.structure(((0, {"b": 0, "a": [0, 0]}), {})), [1])
        >>> read((4, "static", {"b": 3, "a": [1, 2]}), {})
        ([4, 1, 2, 3], (<class 'str'>, 'static'))
    """
    writer = _Writer()
    args, kwargs = in_tree.children()
    try:
        writer.arguments(args.children(), positions)
        writer.keywords(dict(zip(kwargs.entries(), kwargs.children(), strict=True)), names)
    except _UnreadableError:
        return None
    statics = "".join(f"type({name}), {name}, " for name in writer.statics)
    lines = [*writer.lines, f"return [{', '.join(writer.leaves)}], ({statics})"]
    source = "def read(args, kwargs):\n" + "".join(f"    {line}\n" for line in lines)
    scope: dict[str, Any] = dict(writer.known)
    exec(compile(source, "<leaf reader>", "exec"), scope)  # made of names and numbers only
    read: Reader = scope["read"]
    return read


class _Writer:
    """The lines of a function that reads leaves, and what they refer to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.statics: list[str] = []
        self.known: dict[str, Any] = {}
        self._names = 0

    def _known(self, value: Any) -> str:
        """The name of something that the function refers to."""
        name = f"known{len(self.known)}"
        self.known[name] = value
        return name

    def _name(self) -> str:
        self._names += 1
        return f"x{self._names}"

    def arguments(self, trees: Sequence[PyTreeDef], static: Sequence[int]) -> None:
        """Write how positional arguments are taken apart."""
        count = len(trees) + len(static)
        self.lines.append(f"if len(args) != {count}: raise LookupError")
        if not static and all(tree.type is None for tree in trees):
            self.leaves.append("*args")
            return
        names = [self._name() for _ in range(count)]
        self.lines.append(f"{', '.join(names)}, = args")
        self.statics += [names[n] for n in static]
        given = iter(trees)
        for n, name in enumerate(names):
            if n not in static:
                self.node(name, next(given))

    def keywords(self, trees: Mapping[str, PyTreeDef], static: Sequence[str]) -> None:
        """Write how arguments that are given by name are taken apart."""
        if not (trees or static):
            self.lines.append("if kwargs: raise LookupError")
            return
        self.lines.append(f"if len(kwargs) != {len(trees) + len(static)}: raise LookupError")
        names = {key: self._name() for key in (*trees, *static)}
        self.lines += [f"{name} = kwargs[{key!r}]" for key, name in names.items()]
        self.statics += [names[key] for key in static]
        for key, tree in trees.items():
            self.node(names[key], tree)

    def node(self, name: str, treedef: PyTreeDef) -> None:
        """Write how the node called ``name`` is checked and taken apart."""
        kind = treedef.type
        if kind is None:
            self.leaves.append(name)
            return
        if kind is type(None):
            self.lines.append(f"if {name} is not None: raise LookupError")
            return
        children, parts = treedef.children(), name
        if kind in (tuple, list, dict):
            unlike = f"type({name}) is not {kind.__name__} or len({name}) != {len(children)}"
        elif treedef.kind.name in ("NAMEDTUPLE", "CUSTOM"):
            unlike = f"type({name}) is not {self._known(kind)}"
        else:
            raise _UnreadableError
        self.lines.append(f"if {unlike}: raise LookupError")
        if treedef.kind.name == "CUSTOM":
            parts = self._own(name, treedef)
        elif kind is dict and children:
            parts = self._values(name, treedef.entries())
        if all(child.type is None for child in children):
            self.leaves.append(f"*{parts}")
            return
        names = [self._name() for _ in children]
        self.lines.append(f"{', '.join(names)}, = {parts}")
        for child_name, child in zip(names, children, strict=True):
            self.node(child_name, child)

    def _own(self, name: str, treedef: PyTreeDef) -> str:
        # The children of a container of a program's own.
        parts, found, data = self._name(), self._name(), node_data(treedef)
        take_apart = flatten_function(treedef.type)  # type: ignore[arg-type]
        if data is None or take_apart is None:
            raise _UnreadableError
        known = self._known(data[1])
        self.lines += [
            f"{parts}, {found} = {self._known(take_apart)}({name})[:2]",
            f"{parts} = tuple({parts})",
            f"if len({parts}) != {treedef.num_children}: raise LookupError",
            f"if {found} is not {known} and {found} != {known}: raise LookupError",
        ]
        return parts

    def _values(self, name: str, keys: list[Any]) -> str:
        # Keys of one such type have one order, in which their dict is flattened.
        if len(set(map(type, keys))) > 1 or type(keys[0]) not in (str, int):
            raise _UnreadableError
        getter = self._known(itemgetter(*keys))
        return f"{getter}({name})" if len(keys) > 1 else f"({getter}({name}),)"
