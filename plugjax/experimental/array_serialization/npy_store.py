"""Checkpoints of ``.npy`` files and a manifest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from plugjax.environment import process_index
from plugjax.experimental.array_serialization import manifest, npy_parts
from plugjax.experimental.array_serialization.agreement import Agreement, in_all
from plugjax.experimental.array_serialization.manifest import Leaf
from plugjax.extend import pytree

# What such a checkpoint holds.
FILES = (manifest.FILE, "arrays")
written_tree = manifest.written_tree


def write(
    agreement: Agreement,
    folder: Path,
    tree: Mapping[str, Any],
    leaves: Sequence[tuple[Leaf, Any] | None],
    specs: Sequence[Any],
) -> None:
    """Write a checkpoint into an empty folder, together with the other processes.

    Args:
        agreement: of the processes.
        folder: the folder.
        tree: its structure, as :func:`written_tree` gives it.
        leaves: each leaf and its array.
        specs: what the user said to tensorstore, which is none.
    """
    if any(spec is not None for spec in specs):
        raise ImportError(
            "save: ts_specs are for the package tensorstore, which is not installed. Leave them out, or pip install tensorstore."
        )

    def own() -> list[Any]:
        return [
            None if leaf is None else [p._asdict() for p in npy_parts.write(folder, i, leaf[1])]
            for i, leaf in enumerate(leaves)
        ]

    def finish() -> None:
        if process_index() == 0:
            whole = [
                leaf
                and leaf[0]._replace(
                    parts=tuple(manifest.part_from(part) for own in written for part in own[i])
                )
                for i, leaf in enumerate(leaves)
            ]
            (folder / manifest.FILE).write_text(manifest.write(tree, whole), "utf-8")

    written = in_all(agreement, own)
    in_all(agreement, finish)


def describe(folder: Path) -> tuple[pytree.PyTreeDef, list[Leaf | None]]:
    """The structure and the leaves of a checkpoint."""
    return manifest.read(folder)


def readers(
    folder: Path,
    leaves: Sequence[Leaf],
    blocks: Sequence[Sequence[tuple[slice, ...]]],
    specs: Sequence[Any],
) -> list[Callable[[tuple[slice, ...]], Any]]:
    """For each leaf a function from an index to the values there; files are compared with the manifest first.

    Args:
        folder: the checkpoint.
        leaves: the leaves.
        blocks: what of each leaf will be read.
        specs: unused.

    Raises:
        ValueError: a file is missing or damaged.
    """
    del specs
    for leaf, indices in zip(leaves, blocks, strict=True):
        npy_parts.check(folder, leaf, indices)
    return [npy_parts.reader(folder, leaf) for leaf in leaves]
