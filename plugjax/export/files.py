"""The files of an artifact: written together or not at all, and checked when they are read.

Beside a module ``m.vmfb`` lies ``m.vmfb.sha256``, in the format of ``sha256sum``, so that programs without Python can
check it too. The checksum detects damage and files of different artifacts. It does not authenticate the author.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path

_SUFFIX = ".sha256"


def checksum_path(path: Path) -> Path:
    """Path of the checksum file of a module."""
    return path.with_name(path.name + _SUFFIX)


def check_outputs(paths: Sequence[Path]) -> None:
    """Refuse paths that cannot be written, before any work is done.

    Raises:
        ValueError: two outputs are one file, or a path names something that is not a regular file.
        OSError: a path cannot be read.
    """
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise ValueError(
                f"export: two outputs are to go to {path}; give each a file of its own"
            )
        seen.add(real)
        with contextlib.suppress(FileNotFoundError):
            mode = os.stat(path).st_mode
            if not stat.S_ISREG(mode):
                kind = "a folder" if stat.S_ISDIR(mode) else "a special file"
                raise ValueError(f"export: {path} is {kind}; the output goes to a regular file")


@contextlib.contextmanager
def written_together(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Write new files; they replace the old ones only if the block ends without an exception."""
    check_outputs(paths)
    targets = [Path(os.path.realpath(path)) for path in paths]
    for target in targets:
        target.parent.mkdir(parents=True, exist_ok=True)
    mark = os.urandom(6).hex()
    # Temporary names must not be longer than those of the outputs, which may be as long as the file
    # system allows.
    new = [target.with_name(f".{i}-{mark}.tmp") for i, target in enumerate(targets)]
    try:
        yield new
        for source, target in zip(new, targets, strict=True):
            os.replace(source, target)
    finally:
        for path in new:
            path.unlink(missing_ok=True)


def checksums(files: Sequence[tuple[Path, Path]], base: Path) -> str:
    """Lines of ``sha256sum`` for files under their final names, relative to a folder."""
    lines = []
    for content, name in files:
        folder = os.path.realpath(name.parent)
        relative = os.path.relpath(os.path.join(folder, name.name), os.path.realpath(base))
        lines.append(f"{_digest(content)}  {relative}\n")
    return "".join(lines)


def read_iree(path: str | Path) -> bytes:
    """The bytecode of an artifact, checked.

    Checks the module and its parameter archive.

    Args:
        path: the ``.vmfb`` file that :func:`to_iree` wrote.

    Raises:
        ValueError: there is no checksum beside it, or a file differs from its checksum.
        OSError: a file cannot be read.

    Example:
        >>> import plugjax, tempfile, pathlib
        >>> from plugjax.export import read_iree, to_iree
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "m.vmfb"
        >>> x = plugjax.ShapeDtypeStruct((4,), "float32")
        >>> _ = to_iree({"double": (lambda x: x * 2.0, (x,))}, path)
        >>> _ = path.write_bytes(path.read_bytes()[:-1])
        >>> read_iree(path)
        Traceback (most recent call last):
        ...
        ValueError: ...m.vmfb is not the file that was exported: its checksum differs. Export it again.
    """
    path = Path(path)
    content = _read_regular(path)
    beside = checksum_path(path)
    try:
        text = _read_regular(beside).decode("utf-8", "replace")
    except FileNotFoundError:
        raise ValueError(
            f"{path} has no checksum: {beside.name} should lie beside it. Copy it too, or export again."
        ) from None
    wanted = dict(_parsed(line, beside) for line in text.splitlines())
    if path.name not in wanted:
        raise ValueError(f"{beside} has no checksum of {path.name}. Export it again.")
    for name, digest in wanted.items():
        found = (
            hashlib.sha256(content).hexdigest()
            if name == path.name
            else _digest(path.parent / name)
        )
        if found != digest:
            raise ValueError(
                f"{path.parent / name} is not the file that was exported: its checksum differs. Export it again."
            )
    return content


def _read_regular(path: Path) -> bytes:
    with _opened(path) as file:
        return file.read()


def _digest(path: Path) -> str:
    with _opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    # Do not block on a pipe without a writer.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError(f"{path} is not a regular file")
        yield file


def _parsed(line: str, source: Path) -> tuple[str, str]:
    digest, separator, name = line.partition("  ")
    if not separator or len(digest) != 64 or not name:
        raise ValueError(f"{source} is damaged: cannot read {line[:80]!r}. Export again.")
    return name, digest
