"""Compiled modules as bytes that may leave the process, behind a digest of what they depend on."""

from __future__ import annotations

import hashlib

from plugjax_iree import native, workarounds
from plugjax_iree.compile import linking
from plugjax_iree.compile.compiler import compiler_fingerprint
from plugjax_iree.compile.target import CompileTarget

_DIGEST = hashlib.sha256().digest_size


def _digest(target: CompileTarget, vmfb: bytes) -> bytes:
    parts = (
        *target.flags(),
        target.described,
        *compiler_fingerprint(),
        *workarounds.switched_off(),
        *(linking.surroundings() if native.is_linked(vmfb) else ()),
    )
    return hashlib.sha256("\n".join(map(str, parts)).encode()).digest()


def write_module(vmfb: bytes, target: CompileTarget) -> bytes:
    """A module, with the digest."""
    return _digest(target, vmfb) + vmfb


def read_module(blob: bytes, target: CompileTarget) -> bytes:
    """The module that :func:`write_module` wrote.

    Raises:
        ValueError: it was written for another processor or C library, or by another version of IREE.
    """
    digest, vmfb = blob[:_DIGEST], blob[_DIGEST:]
    if digest != _digest(target, vmfb):
        raise ValueError(
            "IREE: the module was compiled for another processor or C library, or by another version of the compiler. Compile the function here."
        )
    return vmfb
