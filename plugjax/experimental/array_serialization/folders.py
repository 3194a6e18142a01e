"""A folder that is replaced as a whole.

The new one is written beside the old one under another name. Then the two change their names, in one step where the system has one
(Linux), else in two: between them the old folder has a name of its own, by which :func:`existing` finds it. So a process that is killed
leaves either the old folder or the new one.
"""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Collection
from pathlib import Path

# renameat2 of Linux: exchange two names.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def staging(root: Path) -> Path:
    """The folder in which the successor of a folder is written."""
    return root.with_name(f".{root.name}.writing")


def _previous(root: Path) -> Path:
    return root.with_name(f".{root.name}.previous")


def existing(root: Path) -> Path:
    """The folder that holds what was last written there.

    Raises:
        FileNotFoundError: there is none.
    """
    for found in (root, _previous(root)):
        if found.is_dir():
            return found
    raise FileNotFoundError(
        f"Checkpoint directory {root} does not exist, or is no directory. Give the one that `save` got."
    )


def begin(root: Path, overwrite: bool, known: Collection[str]) -> Path:
    """An empty folder for the successor of ``root``.

    Args:
        root: the folder.
        overwrite: whether it may hold something.
        known: what a folder that may be replaced can hold.

    Raises:
        ValueError: it holds something, and not ``overwrite``.
        RuntimeError: it holds what is not ``known``.
        FileNotFoundError: the folder around it does not exist.
        NotADirectoryError: it is a file.
    """
    if root.exists() and not root.is_dir():
        raise NotADirectoryError(f"save: {root} is a file. Give a directory.")
    held = sorted(p.name for p in root.iterdir()) if root.exists() else []
    if held and not overwrite:
        raise ValueError(
            f"save: Files already exist at path: `{root}`, but you specified `overwrite={overwrite}`."
        )
    strange = [name for name in held if name not in known]
    if strange:
        raise RuntimeError(
            f"save: Refusing to work on a directory that is not a previous checkpoint. Unrecognized paths in {root}: {strange}. Remove "
            "them, or choose another directory."
        )
    if not root.parent.is_dir():
        raise FileNotFoundError(f"save: {root.parent} does not exist. Make it first.")
    if not root.exists() and _previous(root).is_dir():
        # A process was killed between two renames.
        _previous(root).rename(root)
    fresh = staging(root)
    # Of a process that was killed while it wrote.
    abandon(root)
    fresh.mkdir()
    return fresh


def abandon(root: Path) -> None:
    """Remove the new folder; the old one stays."""
    shutil.rmtree(staging(root), ignore_errors=True)


def commit(root: Path) -> None:
    """Put the new folder in the place of the old one, which is removed."""
    fresh = staging(root)
    for folder, _, files in os.walk(fresh, topdown=False):
        for name in files:
            _flush(Path(folder) / name)
        _flush(Path(folder))
    if not root.exists():
        fresh.rename(root)
        _flush(root.parent)
        return
    if _exchange(fresh, root):
        _flush(root.parent)
        shutil.rmtree(fresh, ignore_errors=True)
        return
    old = _previous(root)
    shutil.rmtree(old, ignore_errors=True)
    root.rename(old)
    fresh.rename(root)
    _flush(root.parent)
    shutil.rmtree(old, ignore_errors=True)


def _exchange(a: Path, b: Path) -> bool:
    """Whether the system exchanged two names in one step."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):  # Not Linux, or an old C library.
        return False
    done = rename(_AT_FDCWD, os.fsencode(a), _AT_FDCWD, os.fsencode(b), _RENAME_EXCHANGE)
    return int(done) == 0


def _flush(path: Path) -> None:
    """Have the disk hold a file, or the names in a folder, also if the machine stops."""
    if os.name != "posix":
        return
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
