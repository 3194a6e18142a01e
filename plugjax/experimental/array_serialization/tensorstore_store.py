"""Checkpoints as JAX writes them: a structure in JSON, and a database of tensorstore with an array for each leaf."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plugjax.environment import process_count, process_index
from plugjax.experimental.array_serialization import npy_parts, tensorstore_impl as ts
from plugjax.experimental.array_serialization.agreement import Agreement, in_all
from plugjax.experimental.array_serialization.manifest import Leaf, dtype_name, dtype_named
from plugjax.experimental.array_serialization.pytree_serialization_utils import (
    LEAVES_KEY,
    deserialize_pytreedef,
    serialize_pytreedef,
)
from plugjax.extend import pytree
from plugjax.extend.core import ShapedArray, physical_aval

# What such a checkpoint holds.
FILES = ("pytreedef.json", "array_store", "archive.zip")
written_tree = serialize_pytreedef
_ARRAY = re.compile(r"Array\(([\w ]+)\[([0-9, ]*)\]\)")


class _Stored:
    """What tensorstore keeps of an array: its shape, dtype and how it is cut."""

    def __init__(self, leaf: Leaf, array: Any) -> None:
        self.shape = leaf.stored
        self.dtype = npy_parts.stored_dtype(leaf.dtype)
        counts = array.sharding.counts(len(self.shape)) if hasattr(array, "sharding") else ()
        self.block = [
            n // counts[axis] if axis < len(counts) else n for axis, n in enumerate(self.shape)
        ]


def write(
    agreement: Agreement,
    folder: Path,
    tree: Mapping[str, Any],
    leaves: Sequence[tuple[Leaf, Any] | None],
    specs: Sequence[Any],
) -> None:
    """Write a checkpoint into an empty folder, together with the other processes; arguments as for ``npy_store.write``."""
    library = ts.library()
    several = process_count() > 1
    arrays = folder / FILES[1]

    def own() -> None:
        writing = []
        for i, (leaf, spec) in enumerate(zip(leaves, specs, strict=True)):
            if leaf is None:
                continue
            described, array = leaf
            found = _spec(arrays / str(i), described, array, spec, several)
            store = library.open(library.Spec(found), create=True, open=True).result()
            for start, value in npy_parts.own_blocks(array):
                index = tuple(slice(a, a + n) for a, n in zip(start, value.shape, strict=True))
                writing.append(store[index].write(np.asarray(value)))
        for each in writing:
            each.result()

    def finish() -> None:
        if process_index() != 0:
            return
        if several and any(leaf is not None for leaf in leaves):
            _combine(library, arrays)
        words = [
            leaf and f"Array({dtype_name(leaf[0].dtype)}[{', '.join(map(str, leaf[0].shape))}])"
            for leaf in leaves
        ]
        written = {**tree, LEAVES_KEY: words}
        (folder / FILES[0]).write_text(json.dumps(written, indent=2), "utf-8")

    in_all(agreement, own)
    in_all(agreement, finish)


def _spec(path: Path, leaf: Leaf, array: Any, given: Any, several: bool) -> Any:
    stored = _Stored(leaf, array)
    own = process_index() if several else None
    spec = ts.get_tensorstore_spec(path, process_idx=own)
    spec["metadata"] = {
        "codecs": [],
        "shape": list(stored.shape),
        "data_type": stored.dtype.name,
        "chunk_grid": {
            "name": "regular",
            "configuration": {"chunk_shape": ts.chunk_shape(stored.block, stored.dtype.itemsize)},
        },
    }
    merged = ts.merge_nested_ts_specs(spec, given)
    base = spec["kvstore"]["base"]["path"]
    try:
        ts.verify_tensorstore_spec(merged, None, base, ocdbt=True, check_metadata=False)
    except ValueError as error:
        raise ValueError(f"save: ts_specs of leaf {leaf.path}: {error}") from None
    return merged


def _combine(library: Any, arrays: Path) -> None:
    """Make one database of those of the processes; it refers to their files."""
    # Databases refer to one another only within one context.
    context = library.Context()

    def opened(process: int | None) -> Any:
        spec = dict(ts.get_tensorstore_spec(arrays / "any", process_idx=process)["kvstore"])
        del spec["path"]
        return library.KvStore.open(spec, context=context).result()

    whole = opened(None)
    with library.Transaction() as transaction:
        for process in range(process_count()):
            opened(process).experimental_copy_range_to(whole.with_transaction(transaction)).result()


def describe(folder: Path) -> tuple[pytree.PyTreeDef, list[Leaf | None]]:
    """The structure and the leaves of a checkpoint."""
    path = folder / FILES[0]
    try:
        found = json.loads(path.read_text("utf-8"))
        treedef = deserialize_pytreedef(found)
        words = found[LEAVES_KEY]
        paths = pytree.paths_of(treedef)
        leaves = [_leaf(text, place) for text, place in zip(words, paths, strict=True)]
    except (KeyError, TypeError, AttributeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"load: {path} is damaged: {type(error).__name__}: {error}.") from None
    return treedef, leaves


def _leaf(text: str | None, path: str) -> Leaf | None:
    if text is None:
        return None
    found = _ARRAY.fullmatch(text)
    if found is None:
        raise TypeError(f"leaf {path} is described as {text!r}")
    shape = tuple(int(n) for n in found[2].split(",") if n.strip())
    dtype = dtype_named(found[1])
    return Leaf(path, shape, dtype, physical_aval(ShapedArray(shape, dtype)).shape)


def readers(
    folder: Path,
    leaves: Sequence[Leaf],
    blocks: Sequence[Sequence[tuple[slice, ...]]],
    specs: Sequence[Mapping[str, Any] | None],
) -> list[Callable[[tuple[slice, ...]], Any]]:
    """For each leaf a function from an index to the values there; metadata are compared with the description first."""
    del blocks
    library = ts.library()
    treedef_leaves = describe(folder)[1]
    numbers = {leaf.path: i for i, leaf in enumerate(treedef_leaves) if leaf is not None}
    found = []
    for leaf, given in zip(leaves, specs, strict=True):
        path = folder / FILES[1] / str(numbers[leaf.path])
        spec = ts.merge_nested_ts_specs(ts.get_tensorstore_spec(path), given)
        try:
            store = library.open(library.Spec(spec), open=True).result()
        except ValueError as error:
            raise ValueError(
                f"load: leaf {leaf.path} cannot be read from {path}: {error}"
            ) from None
        wanted = npy_parts.stored_dtype(leaf.dtype)
        if tuple(store.shape) != leaf.stored or store.dtype.numpy_dtype != wanted:
            raise ValueError(
                f"load: leaf {leaf.path} cannot be read: {path} holds {store.dtype.numpy_dtype}{list(store.shape)}, not "
                f"{wanted}{list(leaf.stored)}."
            )
        found.append(_reader(store, leaf, path))
    return found


def _reader(store: Any, leaf: Leaf, path: Path) -> Callable[[tuple[slice, ...]], Any]:
    def read(index: tuple[slice, ...]) -> Any:
        whole = (*index, *(slice(None),) * (len(leaf.stored) - len(index)))
        try:
            return np.asarray(store[whole].read().result())
        except ValueError as error:
            raise ValueError(
                f"load: leaf {leaf.path} cannot be read from {path}: {error}"
            ) from None

    return read


__all__ = ["FILES", "describe", "readers", "write"]
