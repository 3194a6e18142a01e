"""Compiled code that outlives the process.

A directory of small files, one per entry, named by the hash of everything that decided its
content. Each file carries a checksum over its key and its payload, so that a damaged or renamed
entry is no entry, and is read as bytes, never unpickled. A file that does not check out is
deleted and counts as a miss, and no failure of the file system reaches the program; the worst
case is to compile again.

A checksum detects accidents, not attacks. Cached code is run, so a directory is used only if no other
user can write to it: see `private_folder`. In any other one nothing is read, written or
deleted. Within the directory, only files with the names of entries are touched.

Any number of processes share a directory without coordination. A write goes to a temporary file
that then takes its final name, so a reader sees a whole entry or none; two writers of one key
write the same thing. Only eviction takes a lock, to keep processes from all deleting at once.
The time of last use is the modification time of the file, refreshed by every hit.
"""

import contextlib
import hashlib
import importlib
import os
import re
import threading
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from plugjax.core.config import config
from plugjax.execution.private_folder import File, FolderNotPrivateError, PrivateFolder

DEFAULT_MAX_BYTES = 1 << 30

_MAGIC = b"plugjaxC"
_FORMAT = (2).to_bytes(2, "little")
_HEADER_BYTES = len(_MAGIC) + len(_FORMAT) + hashlib.sha256().digest_size

_KEY = re.compile(r"[0-9a-f]{64}")
_SUFFIX = ".entry"
_ENTRY = re.compile(_KEY.pattern + re.escape(_SUFFIX))
_TEMPORARY_SUFFIX = ".tmp"
_TEMPORARY = re.compile(_KEY.pattern + "-[0-9a-f]{16}" + re.escape(_TEMPORARY_SUFFIX))

# A writer that died leaves its temporary file; no writer takes this long.
_ABANDONED_SECONDS = 3600

# Eviction goes below the limit, so that the next write does not have to evict again.
_EVICT_TO = 0.9

_OFF = {"", "0", "off"}


class Entry(NamedTuple):
    """One entry as `CompilationCache.entries` lists it."""

    key: str
    bytes: int
    last_used: float


class CacheStats(NamedTuple):
    """What this process saw of the cache; damaged entries are among the misses."""

    hits: int
    misses: int
    damaged: int
    writes: int


class CompilationCache:
    """A bounded, persistent mapping from keys to bytes.

    Args:
        directory: created on the first write, readable by its owner only. The entries are
            machine code, so a directory to which another user may write is not used; a warning says so.
        max_bytes: the least recently used entries are deleted beyond this; a payload larger than
            this is not stored.
    """

    def __init__(self, directory: Path, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.directory = Path(directory)
        self.max_bytes = max_bytes
        self._folder = PrivateFolder(self.directory)
        self._lock = threading.Lock()
        self._writable = True
        self._warned = False
        self._estimated_size: int | None = None
        self._hits = self._misses = self._damaged = self._writes = 0

    @staticmethod
    def key(*parts: bytes | str) -> str:
        """The key of these parts, in this order.

        Each part is hashed with its length and kind, so ``("ab", "c")``, ``("a", "bc")`` and
        ``(b"ab", "c")`` differ.
        """
        hashed = hashlib.sha256()
        for part in parts:
            kind, data = (b"s", part.encode()) if isinstance(part, str) else (b"b", part)
            hashed.update(kind + len(data).to_bytes(8, "little"))
            hashed.update(data)
        return hashed.hexdigest()

    def get(self, key: str) -> bytes | None:
        """The payload stored under ``key``, or ``None``."""
        name = _name(key)
        try:
            content = self._folder.read(name, _HEADER_BYTES + self.max_bytes)
        except FolderNotPrivateError as error:
            self._warn_not_private(error)
            self._count_miss()
            return None
        except OSError:
            self._count_miss()
            return None
        payload = _checked_payload(key, content)
        if payload is None:
            with contextlib.suppress(OSError):
                self._folder.remove(name)
            self._count_miss(damaged=True)
            return None
        # On a read-only file system the entry only looks older than it is.
        with contextlib.suppress(OSError):
            self._folder.touch(name)
        with self._lock:
            self._hits += 1
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Stores ``payload`` under ``key``, if that is possible."""
        name = _name(key)
        size = _HEADER_BYTES + len(payload)
        if not self._writable or size > self.max_bytes:
            return
        # A random name, as process numbers repeat among machines that share a file system.
        temporary = f"{key}-{os.urandom(8).hex()}{_TEMPORARY_SUFFIX}"
        try:
            self._folder.make()
            self._folder.write(name, temporary, _header(key, payload) + payload)
        except FolderNotPrivateError as error:
            self._warn_not_private(error)
            return
        except OSError as error:
            # Windows does not replace a file that another process reads; its content is the same.
            if not (self.directory / name).is_file():
                self._stop_writing(error)
            return
        with self._lock:
            self._writes += 1
        self._bound(size)

    def refusal(self) -> str | None:
        """Why the directory is not used, if others can write to it."""
        try:
            self._folder.check()
        except FolderNotPrivateError as error:
            return str(error)
        except OSError:
            pass
        return None

    def entries(self) -> list[Entry]:
        """All entries, the least recently used first."""
        found = [
            Entry(file.name.removesuffix(_SUFFIX), file.bytes, file.modified)
            for file in self._files(_ENTRY)
        ]
        return sorted(found, key=lambda entry: (entry.last_used, entry.key))

    def size(self) -> int:
        """Bytes that the entries take, headers included."""
        return sum(entry.bytes for entry in self.entries())

    def clear(self) -> None:
        """Deletes every entry, and temporary files of writers that died."""
        for file in [*self._files(_ENTRY), *self._files(_TEMPORARY)]:
            with contextlib.suppress(OSError):
                self._folder.remove(file.name)
        with self._lock:
            self._estimated_size = None

    def stats(self) -> CacheStats:
        """Hits, misses, damaged entries and writes of this process."""
        with self._lock:
            return CacheStats(self._hits, self._misses, self._damaged, self._writes)

    def _files(self, pattern: re.Pattern[str]) -> list[File]:
        try:
            return [file for file in self._folder.files() if pattern.fullmatch(file.name)]
        except OSError:
            return []

    def _count_miss(self, *, damaged: bool = False) -> None:
        with self._lock:
            self._misses += 1
            self._damaged += damaged

    def _warn_not_private(self, error: FolderNotPrivateError) -> None:
        with self._lock:
            first, self._warned = not self._warned, True
        if first:
            warnings.warn(
                f"compilation cache: {self.directory} is not used: {error}. What is read from a "
                "cache runs as machine code of this user. This process goes on without stored "
                "code. Set PLUGJAX_CACHE_DIR to a directory that only you can write, or to 'off'.",
                RuntimeWarning,
                stacklevel=3,
            )

    def _stop_writing(self, error: OSError) -> None:
        with self._lock:
            first, self._writable = self._writable, False
        if first:
            warnings.warn(
                f"compilation cache: cannot write to {self.directory}: {error}. This process "
                "goes on without storing compiled code. Set PLUGJAX_CACHE_DIR to a writable "
                "directory, or to 'off'.",
                RuntimeWarning,
                stacklevel=3,
            )

    def _bound(self, written: int) -> None:
        """Evicts if the directory outgrew its limit, as far as this process can tell.

        Listing the directory at each write would cost more than the write. Between listings only
        our own writes are counted, so other processes' writes are seen at their own evictions.
        """
        with self._lock:
            if self._estimated_size is not None:
                self._estimated_size += written
            estimate = self._estimated_size
        if estimate is None or estimate > self.max_bytes:
            size = self.size()
            if size > self.max_bytes:
                size = self._evict(size)
            with self._lock:
                self._estimated_size = size

    def _evict(self, size: int) -> int:
        try:
            with self._folder.locked():
                return self._evict_locked()
        except OSError:
            # Another process evicts at this moment, for us too.
            return size

    def _evict_locked(self) -> int:
        entries = self.entries()
        size = sum(entry.bytes for entry in entries)
        # The last one was used a moment ago, most likely written just now.
        for entry in entries[:-1]:
            if size <= self.max_bytes * _EVICT_TO:
                break
            with contextlib.suppress(OSError):
                self._folder.remove(_name(entry.key))
                size -= entry.bytes
        self._remove_abandoned()
        return size

    def _remove_abandoned(self) -> None:
        oldest = time.time() - _ABANDONED_SECONDS
        for file in self._files(_TEMPORARY):
            if file.modified < oldest:
                with contextlib.suppress(OSError):
                    self._folder.remove(file.name)


def default_cache() -> CompilationCache | None:
    """The cache that the environment asks for; ``None`` if it asks for none.

    ``PLUGJAX_CACHE_DIR`` names the directory (``off``, ``0`` or empty: no cache; unset: that of
    ``jax_compilation_cache_dir``, else the user's cache folder). ``PLUGJAX_CACHE_MAX_BYTES`` bounds it, 1 GiB by default.

    Raises:
        ValueError: ``PLUGJAX_CACHE_MAX_BYTES`` is no count of bytes.
    """
    directory = os.environ.get("PLUGJAX_CACHE_DIR")
    if directory is None:
        directory = config.read("compilation_cache_dir")
    if directory is not None and directory.strip().lower() in _OFF:
        return None
    if directory is None:
        platformdirs: Any = importlib.import_module("platformdirs")
        directory = platformdirs.user_cache_dir("plugjax", appauthor=False)
    key = (directory, _max_bytes_from_environment())
    found = _opened.get(key)
    if found is None:
        found = _opened.setdefault(key, CompilationCache(Path(directory).expanduser(), key[1]))
    return found


def forget_opened() -> None:
    """Look at the folders afresh when they are next asked for."""
    _opened.clear()


# One object per directory and limit: its counters then tell what the process saw.
_opened: dict[tuple[str, int], CompilationCache] = {}


def _max_bytes_from_environment() -> int:
    text = os.environ.get("PLUGJAX_CACHE_MAX_BYTES", str(DEFAULT_MAX_BYTES))
    if not text.strip().isdecimal():
        raise ValueError(
            f"PLUGJAX_CACHE_MAX_BYTES: got {text!r}, needs a whole number of bytes, "
            f"such as {DEFAULT_MAX_BYTES}."
        )
    return int(text)


def _name(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(f"compilation cache: {key!r} is no key. Make one by key(*parts).")
    return key + _SUFFIX


def _header(key: str, payload: bytes) -> bytes:
    return _MAGIC + _FORMAT + hashlib.sha256(key.encode() + payload).digest()


def _checked_payload(key: str, content: bytes) -> bytes | None:
    """The payload of a whole, undamaged file of this format and key; ``None`` for anything else."""
    header, payload = content[:_HEADER_BYTES], content[_HEADER_BYTES:]
    return payload if header == _header(key, payload) else None
