"""A folder whose files only this user can have written.

Compiled code is run as it is read, so only this user may write it. Three things are checked, at each use: that no other user
can put another folder in the place of this one, that the folder is this user's and closed to other writers, and that each
file in it is too, and is a regular one. Once the folder is open, files are found relative to its descriptor, so that
what was checked is what is used. Pipes, devices and links are neither opened nor followed.

Windows has other permissions and gives each user a folder that others cannot write; there, only the kind of file is checked.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_POSIX = os.name == "posix"
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS = 40  # as many as Linux follows along one path

# Absent on Windows, where O_BINARY keeps line ends from being translated.
_DIRECTORY = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer would block
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class FolderNotPrivateError(OSError):
    """Another user can write to the folder, or could put another one in its place."""


class File(NamedTuple):
    """A file of the folder; `modified` is in seconds since the epoch."""

    name: str
    bytes: int
    modified: float


class PrivateFolder:
    """Files by name in one folder. Every method may raise `OSError`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def check(self) -> None:
        """Look whether the folder may be used; one that does not exist yet may.

        Raises:
            FolderNotPrivateError: it may not; the message says why.
        """
        with contextlib.suppress(FileNotFoundError), self._opened():
            pass

    def make(self) -> None:
        """Make the folder, and those around it, for this user alone; nothing is made in a place of others."""
        self.check()
        missing = [self.path, *self.path.parents]
        while missing and missing[-1].is_dir():
            missing.pop()
        for each in reversed(missing):
            each.mkdir(mode=0o700, exist_ok=True)

    def read(self, name: str, limit: int) -> bytes:
        """The content of a file; empty if that is longer than `limit`."""
        with self._opened() as folder:
            handle = os.open(self._at(folder, name), _READ, dir_fd=folder)
            with os.fdopen(handle, "rb") as file:
                status = os.fstat(handle)
                if not _is_ours(status):
                    raise PermissionError(errno.EPERM, "not a file of this user's alone", name)
                return file.read() if status.st_size <= limit else b""

    def write(self, name: str, temporary: str, content: bytes) -> None:
        """Write to the file `temporary`, and rename it to `name`."""
        with self._opened() as folder:
            path = self._at(folder, temporary)
            try:
                handle = os.open(path, _CREATE, 0o600, dir_fd=folder)
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                os.replace(path, self._at(folder, name), src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(path, dir_fd=folder)
                raise

    def touch(self, name: str) -> None:
        """Set the time of modification to now."""
        with self._opened() as folder:
            if _POSIX:
                os.utime(name, dir_fd=folder, follow_symlinks=False)
            else:
                os.utime(self.path / name)

    def remove(self, name: str) -> None:
        """Delete a file, if it is a regular one and this user's."""
        with self._opened() as folder:
            path = self._at(folder, name)
            if _is_ours(os.stat(path, dir_fd=folder, follow_symlinks=False)):
                os.unlink(path, dir_fd=folder)

    def files(self) -> list[File]:
        """The regular files that are this user's."""
        found = []
        with self._opened() as folder:
            for name in os.listdir(self.path if folder is None else folder):
                with contextlib.suppress(OSError):
                    path = self._at(folder, name)
                    status = os.stat(path, dir_fd=folder, follow_symlinks=False)
                    if _is_ours(status):
                        found.append(File(name, status.st_size, status.st_mtime))
        return found

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's lock, where the file system has locks.

        Raises:
            BlockingIOError: another process holds it.
        """
        with self._opened() as folder:
            if folder is not None:
                fcntl: Any = importlib.import_module("fcntl")
                try:
                    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise
                except OSError:
                    # NFS locks no folders. Two processes may then do the same work at once.
                    pass
            yield

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int | None]:
        """The folder's descriptor, checked; on Windows `None`, and names are joined to the path."""
        if not _POSIX:
            yield None
            return
        user = os.geteuid()
        _check_place(self.path, user)
        folder = os.open(self.path, os.O_RDONLY | _DIRECTORY)
        try:
            _check_folder(self.path, os.fstat(folder), user)
            yield folder
        finally:
            os.close(folder)

    def _at(self, folder: int | None, name: str) -> str:
        return str(self.path / name) if folder is None else name


def _is_ours(status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode):
        return False
    return not _POSIX or (
        status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS
    )


def _check_folder(path: Path, status: os.stat_result, user: int) -> None:
    if status.st_uid != user:
        raise FolderNotPrivateError(f"it belongs to {_named(status.st_uid)}")
    if status.st_mode & _WRITABLE_BY_OTHERS:
        raise FolderNotPrivateError(
            f"others may write to it (mode {stat.S_IMODE(status.st_mode):o}); `chmod go-w {path}` closes it"
        )


def _check_place(path: Path, user: int) -> None:
    """Walk along a path, links included, as far as it exists.

    A user who may write to a folder on the way can replace its entries; in a sticky folder such as /tmp, only that user's
    own. Root may do so everywhere.
    """
    place, links = "/", 0
    pending = os.path.join(os.getcwd(), path).split("/")[::-1]
    while pending:
        status = os.lstat(place)
        if status.st_uid not in (0, user):
            raise FolderNotPrivateError(f"{place} belongs to {_named(status.st_uid)}")
        if status.st_mode & _WRITABLE_BY_OTHERS and not status.st_mode & stat.S_ISVTX:
            raise FolderNotPrivateError(
                f"others may write to {place} (mode {stat.S_IMODE(status.st_mode):o})"
            )
        part = pending.pop()
        if part == "..":
            place = os.path.dirname(place)
        elif part not in ("", "."):
            below = os.path.join(place, part)
            try:
                status = os.lstat(below)
            except FileNotFoundError:
                return
            if not stat.S_ISLNK(status.st_mode):
                place = below
                continue
            links += 1
            if status.st_uid not in (0, user):
                raise FolderNotPrivateError(f"the link {below} belongs to {_named(status.st_uid)}")
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            target = os.readlink(below)
            pending += target.split("/")[::-1]
            if target.startswith("/"):
                place = "/"


def _named(user: int) -> str:
    pwd: Any = importlib.import_module("pwd")
    try:
        return f"user {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f"user {user}"
