"""What a checkpoint of ``.npy`` files holds, in JSON: the tree, and of each leaf shape, dtype and parts.

A manifest is read as the input of a stranger: every field is checked before anything follows from it.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from plugjax.extend import extensions, pytree

FILE = "manifest.json"
_FORMAT = 1
# A part's file within the checkpoint. No other is opened.
_PART_FILE = re.compile(r"arrays/\d+/[\d_]+\.npy")


class Part(NamedTuple):
    """A block of an array in a file of its own.

    Attributes:
        file: relative to the checkpoint.
        start: index of its first element in the array, as it is stored.
        shape: of the block.
        crc32: of its bytes.
    """

    file: str
    start: tuple[int, ...]
    shape: tuple[int, ...]
    crc32: int


class Leaf(NamedTuple):
    """An array of a checkpoint.

    Attributes:
        path: its place in the tree, as Python writes it: ``['w'][0]``.
        shape: of the array.
        dtype: of the array, an extended one for keys.
        stored: shape of what is stored: that of the words of keys has more axes.
        parts: blocks that make it up; none for other formats.
    """

    path: str
    shape: tuple[int, ...]
    dtype: Any
    stored: tuple[int, ...]
    parts: tuple[Part, ...] = ()


def _from_export(name: str) -> Any:
    return extensions.attribute("program_bytes", "programs as bytes", name)


def _of_trees(name: str) -> Any:
    return extensions.attribute("tree_bytes", "trees as bytes", name)


def dtype_name(dtype: Any) -> str:
    """The name by which a manifest knows a dtype."""
    found: str = _from_export("dtype_name")(dtype)
    return found


def dtype_named(name: str) -> Any:
    """The dtype of a name.

    Raises:
        ValueError: arrays have no such dtype.
    """
    return _from_export("dtype_named")(name)


def written_tree(treedef: pytree.PyTreeDef) -> dict[str, Any]:
    """A structure as data for JSON.

    Raises:
        ValueError: a container of a class that is not registered.
        TypeError: a dict has keys that are no strings.
    """
    return _written(_of_trees("tree_fields")(treedef))


def write(tree: Mapping[str, Any], leaves: Sequence[Leaf | None]) -> str:
    """The manifest of a written tree; ``None`` stands for a leaf that is ``None``."""
    described = [
        leaf
        and {
            "path": leaf.path,
            "shape": leaf.shape,
            "dtype": dtype_name(leaf.dtype),
            "stored": leaf.stored,
            "parts": [part._asdict() for part in leaf.parts],
        }
        for leaf in leaves
    ]
    return json.dumps({"format": _FORMAT, "tree": tree, "leaves": described}, indent=1)


def _written(fields: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(fields)
    if "children" in found:
        found["children"] = [_written(child) for child in found["children"]]
    if "custom_auxdata" in found:
        found["custom_auxdata"] = base64.b64encode(found["custom_auxdata"]).decode()
    return found


def read(folder: Path) -> tuple[pytree.PyTreeDef, list[Leaf | None]]:
    """The structure of the tree in a checkpoint, and its leaves.

    Raises:
        ValueError: the manifest is damaged, or holds a class of containers that is not registered.
    """
    path = folder / FILE
    try:
        found = json.loads(path.read_text("utf-8"))
        if found["format"] != _FORMAT:
            _fail(path, f"its format is {found['format']!r}, and {_FORMAT} is known")
        leaves = [None if entry is None else _leaf(path, entry) for entry in found["leaves"]]
        # Containers are built around the leaves that are arrays; each needs an object of its own.
        holders = [leaf or object() for leaf in leaves]
        treedef = _of_trees("read_tree")(_read(found["tree"]), holders)
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, RecursionError) as error:
        _fail(path, f"{type(error).__name__}: {error}")
    except json.JSONDecodeError as error:
        _fail(path, str(error))
    return treedef, leaves


def _fail(path: Path, words: str) -> NoReturn:
    raise ValueError(f"load: the manifest {path} is damaged: {words}.") from None


def _read(fields: Mapping[str, Any]) -> dict[str, Any]:
    names = fields.get("children_names", [])
    if not all(isinstance(name, str) for name in names):
        raise TypeError("keys of a dict are no strings")
    return {
        "kind": int(fields["kind"]),
        "children": [_read(child) for child in fields.get("children", [])],
        "children_names": list(names),
        "custom_name": fields.get("custom_name"),
        "custom_auxdata": base64.b64decode(fields.get("custom_auxdata", "")),
    }


def _leaf(path: Path, entry: Mapping[str, Any]) -> Leaf:
    leaf = Leaf(
        str(entry["path"]),
        _sizes(entry["shape"]),
        dtype_named(str(entry["dtype"])),
        _sizes(entry["stored"]),
        tuple(_part(part) for part in entry["parts"]),
    )
    words = f"leaf {leaf.path}"
    if leaf.stored[: len(leaf.shape)] != leaf.shape:
        _fail(path, f"{words} has shape {leaf.shape} and is stored as {leaf.stored}")
    covered = 0
    for part in leaf.parts:
        if len(part.start) != len(leaf.stored) or len(part.shape) != len(leaf.stored):
            _fail(
                path, f"{words} has the rank {len(leaf.stored)}, and its part {part.file} another"
            )
        ends = (a + n for a, n in zip(part.start, part.shape, strict=True))
        if any(end > n for end, n in zip(ends, leaf.stored, strict=True)):
            _fail(path, f"{words} of stored shape {leaf.stored} has a part beyond it: {part.file}")
        covered += math.prod(part.shape)
    distinct = len({part.start for part in leaf.parts}) == len(leaf.parts)
    if covered != math.prod(leaf.stored) or not distinct:
        _fail(path, f"{words} is not covered by its {len(leaf.parts)} parts")
    return leaf


def _sizes(found: Any) -> tuple[int, ...]:
    if not all(type(n) is int and n >= 0 for n in found):
        raise TypeError(f"{found!r} are no sizes")
    return tuple(found)


def _part(entry: Mapping[str, Any]) -> Part:
    file = entry["file"]
    if not _PART_FILE.fullmatch(file):
        raise TypeError(f"{file!r} is no part's file")
    return Part(file, _sizes(entry["start"]), _sizes(entry["shape"]), int(entry["crc32"]))


def part_from(entry: Mapping[str, Any]) -> Part:
    """A part as another process has described it."""
    return _part(entry)
