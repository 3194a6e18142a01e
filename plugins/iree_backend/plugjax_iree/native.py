"""The two native libraries of IREE, loaded on first use.

The compiler costs about 190 ms and 64 MB, the runtime 4 ms; a process that only imports the plugin
pays neither, and one that runs cached modules never loads the compiler.
"""

import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType


@cache
def runtime() -> ModuleType:
    """The runtime's extension module (``VmContext``, ``HalDevice`` ...)."""
    # The extension itself, not `iree.runtime`: that package adds 20 ms of array helpers, unused
    # here.
    from iree._runtime.libs import _runtime  # noqa: PLC0415 - named lazy-loading point

    return _runtime


def compiler_package() -> Path | None:
    """The folder of ``iree.compiler``, which is not imported; ``None`` if it is not installed."""
    found = find_spec("iree.compiler")
    return None if found is None or found.origin is None else Path(found.origin).parent


def temporary_folder() -> str:
    """Where the runtime writes the libraries that it loads, by its own rule."""
    return os.environ.get("TMPDIR", "/tmp")


def is_linked(vmfb: bytes) -> bool:
    """Whether the code of a module is a library of the system, which the runtime writes to a temporary file."""
    return b"system-elf" in vmfb


@cache
def compiler() -> ModuleType:
    """The ctypes binding of ``libIREECompiler`` (``Session``, ``Source``, ``_dylib`` ...)."""
    from iree.compiler.api import ctypes_dl  # noqa: PLC0415 - named lazy-loading point

    # Without this call, even of no flags, conversions to bfloat16 and back to float32 are left out.
    ctypes_dl._initializeGlobalCL("plugjax", *_process_flags)
    return ctypes_dl


_process_flags: list[str] = []


def set_process_flags(*flags: str) -> None:
    """Give the compiler flags that hold for the whole process; before the compiler is loaded."""
    _process_flags[:] = flags
