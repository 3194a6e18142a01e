"""The empty files that IREE leaves behind for each library that it loads."""

import contextlib
import os

from plugjax_iree import native

_PREFIX = "iree_dylib_"


def remove_reservations() -> None:
    """Remove them.

    IREE reserves the name of a temporary file by an empty one, writes the library beside it, loads it, and removes the library only. Those of
    other processes go too: a reserved name is as unlikely to be drawn again.
    """
    with (
        contextlib.suppress(OSError, AttributeError),
        os.scandir(native.temporary_folder()) as entries,
    ):
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                about = entry.stat(follow_symlinks=False)
                if about.st_size == 0 and about.st_uid == os.getuid():
                    os.unlink(entry.path)
