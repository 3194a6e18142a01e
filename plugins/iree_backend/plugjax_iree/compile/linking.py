"""Linking the code of a module with the libraries of this process.

IREE's compiler adds a copy of 45 functions of the C library to each executable, because the code that LLVM makes may call them, and compiles
them each time: a quarter of the time of a small program. A module that runs in this process links with the libraries that are there.
"""

import os
import shlex
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from plugjax_iree import native

_MAPS = Path("/proc/self/maps")
_LIBRARIES = ("libm.so.6", "libc.so.6")
# Undefined symbols are errors of the linker; those that are left to the libraries are found when the module is loaded, not when it runs.
_COMPLETE = ("-z", "defs", "-z", "now", "--as-needed")
_NOT_EMBEDDED = "--iree-llvmcpu-link-embedded=false"
_LINKER = "--iree-llvmcpu-system-linker-path="


@cache
def flags() -> tuple[str, ...]:
    """The compiler's flags; none where the libraries or the linker are not found, or where IREE could not load the module.

    Differs from the embedded form, which needs no library: the module belongs to this machine, and is loaded from a temporary file.
    """
    if sys.platform != "linux":
        return ()
    linker, libraries = _linker(), _libraries()
    if linker is None or len(libraries) < len(_LIBRARIES) or not _runs_temporary_files():
        return ()
    # The shell reads the command.
    command = shlex.join([str(linker), "-flavor", "gnu", *_COMPLETE, *libraries])
    return (_NOT_EMBEDDED, _LINKER + command)


@cache
def surroundings() -> tuple[str, ...]:
    """What a linked module needs: the C library, by its version, and that this process loads such modules; for digests and cache keys."""
    return (os.confstr("CS_GNU_LIBC_VERSION") or "", *flags()) if flags() else ()


def _linker() -> Path | None:
    """LLD, which comes with the compiler."""
    package = native.compiler_package()
    linker = package and package / "_mlir_libs" / "iree-lld"
    return linker if linker and os.access(linker, os.X_OK) else None


def _libraries() -> Sequence[str]:
    """The paths of the C library's parts in this process."""
    mapped = {line.split(maxsplit=5)[-1].strip() for line in _MAPS.read_text().splitlines()}
    return [path for name in _LIBRARIES for path in mapped if path.endswith(f"/{name}")]


def _runs_temporary_files() -> bool:
    """Whether code in temporary files may be written and run: some systems forbid it."""
    folder = native.temporary_folder()
    return os.access(folder, os.W_OK) and not os.statvfs(folder).f_flag & os.ST_NOEXEC
