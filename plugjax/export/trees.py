"""Structures of pytrees in artifacts: which containers can be written, and how they are read.

Tuples, lists, dicts with string keys, and ``None`` need nothing. Other classes are registered with functions that write
and read what of a container is no child. Reading runs these registered functions and no other code.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from plugjax.export import flat_tables, schema
from plugjax.extend import pytree

T = TypeVar("T", bound=type)


class _Writing(NamedTuple):
    name: str
    write: Callable[[Any], bytes]


class _Reading(NamedTuple):
    kind: type
    read: Callable[[bytes], Any]
    build: Callable[[Any, Sequence[Any]], Any]


_by_class: dict[type, _Writing] = {}
_by_name: dict[str, _Reading] = {}

_REGISTER = (
    "Use `export.register_pytree_node_serialization` or `export.register_namedtuple_serialization`."
)


def register_pytree_node_serialization(
    nodetype: T,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> T:
    """Let artifacts hold a class of containers; returns the class, so that it may decorate it.

    Args:
        nodetype: a class that is a pytree container.
        serialized_name: its name in artifacts, the same where they are written and read.
        serialize_auxdata: what of a container is no child, as bytes.
        deserialize_auxdata: the inverse.
        from_children: ``(auxdata, children) -> container``; by default what the class was registered with as a container.

    Raises:
        ValueError: the class or the name is registered already, or the class is no container.

    Example:
        >>> import plugjax
        >>> from plugjax import export, tree_util
        >>> class Pair:
        ...     def __init__(self, a, b):
        ...         self.a, self.b = a, b
        >>> tree_util.register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda _, c: Pair(*c))
        >>> _ = export.register_pytree_node_serialization(
        ...     Pair,
        ...     serialized_name="example.Pair",
        ...     serialize_auxdata=lambda _: b"",
        ...     deserialize_auxdata=lambda _: None,
        ... )
        >>> exported = export.export(plugjax.jit(lambda p: p.a - p.b))(Pair(5.0, 2.0))
        >>> export.deserialize(exported.serialize()).call(Pair(5.0, 2.0))
        Array(3., dtype=float32)
    """
    if nodetype in _by_class:
        raise ValueError(
            f"register_pytree_node_serialization: Duplicate serialization registration for type `{nodetype}`; it is "
            f"registered with serialized_name `{_by_class[nodetype].name}`."
        )
    if serialized_name in _by_name:
        raise ValueError(
            "register_pytree_node_serialization: Duplicate serialization registration for serialized_name "
            f"`{serialized_name}`; it is that of type `{_by_name[serialized_name].kind}`."
        )
    if from_children is None:
        unflatten = pytree.unflatten_function(nodetype)
        if unflatten is None:
            raise ValueError(
                f"register_pytree_node_serialization: {nodetype} is no container yet. If `from_children` is not present, "
                "call `tree_util.register_pytree_node` first."
            )
        from_children = unflatten
    _by_class[nodetype] = _Writing(serialized_name, serialize_auxdata)
    _by_name[serialized_name] = _Reading(nodetype, deserialize_auxdata, from_children)
    return nodetype


def register_namedtuple_serialization(nodetype: T, *, serialized_name: str) -> T:
    """Let artifacts hold a class of named tuples; returns the class.

    Args:
        nodetype: the class; where artifacts are read, it has the same fields.
        serialized_name: its name in artifacts.

    Raises:
        ValueError: it is no class of named tuples, or the class or name is registered already.

    Example:
        >>> from typing import NamedTuple
        >>> import plugjax
        >>> from plugjax import export
        >>> class Point(NamedTuple):
        ...     x: float
        ...     y: float
        >>> _ = export.register_namedtuple_serialization(Point, serialized_name="example.Point")
        >>> exported = export.export(plugjax.jit(lambda p: p.x * p.y))(Point(2.0, 3.0))
        >>> export.deserialize(exported.serialize()).call(Point(2.0, 3.0))
        Array(6., dtype=float32)
    """
    fields: Any = getattr(nodetype, "_fields", None)
    if not (issubclass(nodetype, tuple) and isinstance(fields, tuple)):
        raise ValueError(
            f"register_namedtuple_serialization: {nodetype} is no named tuple. Use "
            "`export.register_pytree_node_serialization` for types other than `collections.namedtuple`."
        )

    def build(names: Any, children: Sequence[Any]) -> Any:
        if sorted(names) != sorted(fields):
            raise ValueError(
                f"export.deserialize: the artifact has the fields {tuple(names)} for {nodetype}, which has {fields}."
            )
        return nodetype(**dict(zip(names, children, strict=True)))

    return register_pytree_node_serialization(
        nodetype,
        serialized_name=serialized_name,
        serialize_auxdata=lambda _: json.dumps(fields).encode(),
        deserialize_auxdata=_names,
        from_children=build,
    )


def _names(data: bytes) -> tuple[str, ...]:
    found = json.loads(data)
    if not (isinstance(found, list) and all(isinstance(name, str) for name in found)):
        raise ValueError(f"export.deserialize: the names of a container's children are {found!r}.")
    return tuple(found)


def _ordered_names(keys: Any) -> bytes:
    if not all(isinstance(key, str) for key in keys):
        raise NotImplementedError(
            f"export: Serialization of collections.OrderedDict needs keys that are strings, got {list(keys)}."
        )
    return json.dumps(list(keys)).encode()


register_pytree_node_serialization(
    collections.OrderedDict,
    serialized_name="collections.OrderedDict",
    serialize_auxdata=_ordered_names,
    deserialize_auxdata=_names,
    from_children=lambda keys, children: collections.OrderedDict(zip(keys, children, strict=True)),
)


def tree_fields(treedef: pytree.PyTreeDef) -> dict[str, Any]:
    """A structure as a table of the schema.

    Raises:
        TypeError: a dict has keys that are no strings.
        ValueError: a container of a class that is not registered.
    """
    found = pytree.node_data(treedef)
    if found is None:
        return {"kind": schema.LEAF}
    kind, data = found
    fields: dict[str, Any] = {"children": [tree_fields(child) for child in treedef.children()]}
    if kind is type(None):
        fields["kind"] = schema.NONE
    elif kind is tuple:
        fields["kind"] = schema.TUPLE
    elif kind is list:
        fields["kind"] = schema.LIST
    elif kind is dict:
        fields["kind"] = schema.DICT
        for key in data:
            if not isinstance(key, str):
                raise TypeError(
                    "export: Serialization is supported only for dictionaries with string keys, got the key "
                    f"{key!r} of type {type(key)}."
                )
        fields["children_names"] = list(data)
    else:
        writing = _by_class.get(kind)
        if writing is None:
            raise ValueError(
                f"export: Cannot serialize PyTreeDef: it has a container of the unregistered type `{kind}`. {_REGISTER}"
            )
        written = writing.write(data)
        if not isinstance(written, (bytes, bytearray)):
            raise ValueError(
                f"export: serialize_auxdata of `{kind}` must return a `bytes` object, and gave {type(written)}."
            )
        fields |= {
            "kind": schema.CUSTOM, "custom_name": writing.name, "custom_auxdata": bytes(written),
        }  # fmt: skip
    return fields if fields["children"] else {k: v for k, v in fields.items() if k != "children"}


def read_tree(fields: Mapping[str, Any] | None, leaves: Sequence[Any]) -> pytree.PyTreeDef:
    """The structure that a table describes.

    Args:
        fields: the table.
        leaves: what the leaves are while containers are built: classes may refuse placeholders.

    Raises:
        ValueError: the table is malformed, a class is not registered, or there are more or fewer leaves.
    """
    if fields is None:
        raise ValueError(
            "export.deserialize: the structure of the arguments or results is missing."
        )
    remaining = iter(leaves)
    tree = _build(fields, remaining)
    if next(remaining, None) is not None:
        raise ValueError(f"export.deserialize: a structure has fewer leaves than {len(leaves)}.")
    own = set(map(id, leaves))
    return pytree.structure(tree, is_leaf=lambda x: id(x) in own)


def tree_as_bytes(treedef: pytree.PyTreeDef) -> bytes:
    """A structure as the bytes of JAX's table.

    Raises:
        ImportError: the package ``flatbuffers`` is not installed.
        TypeError: a dict has keys that are no strings.
        ValueError: a container of a class that is not registered.
    """
    return bytes(flat_tables.write("Tree", tree_fields(treedef)))


def tree_from_bytes(data: bytes, leaves: Sequence[Any]) -> pytree.PyTreeDef:
    """The structure of :func:`tree_as_bytes`; ``leaves`` as for :func:`read_tree`.

    Raises:
        ValueError: the bytes are damaged, a class is not registered, or there are more or fewer leaves.
    """
    return read_tree(flat_tables.read("Tree", data), leaves)


def _build(fields: Mapping[str, Any], leaves: Iterator[Any]) -> Any:
    kind = fields["kind"]
    children = [_build(child, leaves) for child in fields["children"]]
    if kind == schema.LEAF:
        found = next(leaves, None)
        if found is None or children:
            raise ValueError(
                "export.deserialize: a structure has more leaves than there are avals."
            )
        return found
    if kind == schema.NONE:
        return None
    if kind == schema.TUPLE:
        return tuple(children)
    if kind == schema.LIST:
        return children
    if kind == schema.DICT:
        names = fields["children_names"]
        if len(set(names)) != len(children) or len(names) != len(children):
            raise ValueError(
                f"export.deserialize: a dict has {len(children)} values for the keys {names}."
            )
        return dict(zip(names, children, strict=True))
    if kind != schema.CUSTOM:
        raise ValueError(f"export.deserialize: a structure has a container of unknown kind {kind}.")
    reading = _by_name.get(fields["custom_name"])
    if reading is None:
        raise ValueError(
            "export.deserialize: Cannot deserialize a PyTreeDef with a container of the unregistered type "
            f"`{fields['custom_name']}`. {_REGISTER}"
        )
    return reading.build(reading.read(fields["custom_auxdata"]), children)


__all__ = [
    "read_tree",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "tree_as_bytes",
    "tree_fields",
    "tree_from_bytes",
]
