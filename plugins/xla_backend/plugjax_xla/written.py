"""Executables as bytes that may leave the process: machine code, behind a digest of what it depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from plugjax_xla.fingerprint import digest
from plugjax_xla.jaxlib_shim import register_shipped_targets
from plugjax_xla.mesh_runtime import MeshRuntime
from plugjax_xla.pjrt import PjrtDevice, PjrtExecutable

_DIGEST = hashlib.sha256().digest_size


def _digest(runtime: PjrtDevice) -> bytes:
    return digest(runtime.runtime_fingerprint())


def write_executable(compiled: PjrtExecutable) -> bytes:
    """The executable as bytes.

    Raises:
        ValueError: it calls Python objects of this process.
    """
    return _digest(compiled.device) + compiled.serialize()


def load_executable(
    runtime: PjrtDevice, blob: bytes, specs: Sequence[tuple[Sequence[int], Any]]
) -> PjrtExecutable:
    """What :func:`write_executable` wrote.

    Raises:
        ValueError: it was written for another processor, version of jaxlib or ``XLA_FLAGS``, or is damaged.
    """
    _check(runtime, blob)
    register_shipped_targets(blob)
    return runtime.deserialize(blob[_DIGEST:], specs)


def _check(runtime: PjrtDevice, blob: bytes) -> None:
    if blob[:_DIGEST] != _digest(runtime):
        raise ValueError(
            "XLA: the executable was compiled for another processor, by another version of jaxlib, or with other XLA_FLAGS. "
            "Compile the function here."
        )


def write_spread_executable(runtime: MeshRuntime, raw: Any) -> bytes:
    """An executable over several devices as bytes."""
    return _digest(runtime.devices[0]) + runtime.serialize(raw)


def load_spread_executable(runtime: MeshRuntime, blob: bytes, options: Any) -> Any:
    """What :func:`write_spread_executable` wrote.

    Args:
        runtime: the devices.
        blob: the bytes.
        options: of the compiler.

    Raises:
        ValueError: as for :func:`load_executable`.
    """
    _check(runtime.devices[0], blob)
    register_shipped_targets(blob)
    return runtime.deserialize(blob[_DIGEST:], options)
