"""The empty files that IREE leaves behind for each library that it loads."""

import contextlib
import os
import re

from plugjax_iree import native

# Six random characters. The library has a longer name, and is empty too until it is written.
_RESERVED = re.compile("iree_dylib_[A-Za-z0-9]{6}")


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
            if _RESERVED.fullmatch(entry.name):
                about = entry.stat(follow_symlinks=False)
                if about.st_size == 0 and about.st_uid == os.getuid():
                    os.unlink(entry.path)
