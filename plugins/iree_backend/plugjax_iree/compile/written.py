"""Compiled modules as bytes that may leave the process, behind a digest of what they depend on."""

from __future__ import annotations

import hashlib

from plugjax_iree import workarounds
from plugjax_iree.compile.compiler import compiler_fingerprint
from plugjax_iree.compile.target import CompileTarget

_DIGEST = hashlib.sha256().digest_size


def _digest(target: CompileTarget) -> bytes:
    parts = (
        *target.flags(),
        target.described,
        *compiler_fingerprint(),
        *workarounds.switched_off(),
    )
    return hashlib.sha256("\n".join(map(str, parts)).encode()).digest()


def write_module(vmfb: bytes, target: CompileTarget) -> bytes:
    """A module, with the digest."""
    return _digest(target) + vmfb


def read_module(blob: bytes, target: CompileTarget) -> bytes:
    """The module that :func:`write_module` wrote.

    Raises:
        ValueError: it was written for another processor, or by another version of IREE.
    """
    if blob[:_DIGEST] != _digest(target):
        raise ValueError(
            "IREE: the module was compiled for another processor, or by another version of the compiler. Compile the function here."
        )
    return blob[_DIGEST:]
