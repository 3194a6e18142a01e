"""Devices that are not there, by the names of their architectures: the extension ``topologies`` of IREE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plugjax.extend.backend import Backend, Executable
from plugjax.extend.core import ClosedJaxpr, Device
from plugjax_iree.compile.program import compile_ahead, lower_program
from plugjax_iree.compile.target import CompileTarget
from plugjax_iree.compile.written import write_module

BACKEND = "iree"
# Hardware by the word before an architecture, with IREE's driver.
_DRIVERS = {"cpu": "local", "cuda": "cuda", "rocm": "hip", "vulkan": "vulkan"}
PLATFORMS = tuple(_DRIVERS)


def described(platform: str, name: str, **settings: Any) -> list[Device]:
    """One device, which programs are compiled for; they cannot run on it.

    Args:
        platform: ``"cpu"``, ``"cuda"``, ``"rocm"`` or ``"vulkan"``.
        name: an architecture as IREE's compiler names it: ``sm_80``, ``gfx942``, ``ampere``, a processor such as ``generic``; empty for the
            compiler's default.
        **settings: none.

    Raises:
        RuntimeError: there can be no such architecture.
        TypeError: there are settings.
    """
    if settings:
        raise TypeError(f"IREE: a device to compile for has no settings, got {sorted(settings)}.")
    try:
        CompileTarget(_DRIVERS[platform], name)
    except ValueError as error:
        raise RuntimeError(f"{platform}: no architecture {name!r}: {error}") from error
    return list(AheadBackend(platform, name).devices())


class AheadBackend(Backend):
    """Compiles programs with IREE for a device that is not there.

    Args:
        hardware: one of ``PLATFORMS``.
        arch: the architecture.
    """

    name = BACKEND
    compiles_only = True
    dialects = ("stablehlo",)
    lowers_for = PLATFORMS

    def __init__(self, hardware: str, arch: str) -> None:
        self.topology = f"iree:{hardware}:{arch}".rstrip(":")
        self._arch = arch
        kind = _DRIVERS[hardware]
        words = f"IREE for {arch or hardware}"
        self._device = Device(self, kind, 0, words, hardware, host_visible=False)

    def devices(self) -> Sequence[Device]:
        """The device."""
        return (self._device,)

    def put(self, value: np.ndarray[Any, Any], device: Any) -> Any:
        """Refused.

        Raises:
            RuntimeError: always.
        """
        raise _not_there(self.topology)

    def lower(self, jaxpr: ClosedJaxpr, options: Mapping[str, Any], dialect: str) -> str:
        """The StableHLO text that IREE gets.

        Raises:
            ValueError: for several kinds of hardware at once.
        """
        (hardware,) = options.get("platforms", (self._device.hardware,))
        lowered = lower_program(jaxpr, hardware, options, calls=False)
        return str(lowered.as_text(debug_info=bool(options.get("debug_info"))))

    def compile(self, jaxpr: ClosedJaxpr, device: Device, options: Mapping[str, Any]) -> Executable:
        """Lower, and compile or find in the cache.

        Raises:
            LoweringError: a primitive has no lowering; calls to Python cannot be in what is compiled ahead.
            JaxRuntimeError: IREE refuses the program or a flag.
        """
        vmfb, target = compile_ahead(jaxpr, device.kind, device.hardware, self._arch, options)
        return AheadModule(self.topology, vmfb, target, options.get("donated", ()))


class AheadModule(Executable):
    """A module for a device that is not there.

    Attributes:
        code: the module, as IREE's runtimes load it.
    """

    def __init__(
        self, topology: str, vmfb: bytes, target: CompileTarget, donated: Sequence[int]
    ) -> None:
        self._topology, self.code, self._target = topology, vmfb, target
        self.donated = frozenset(donated)

    def run(self, buffers: Sequence[Any]) -> Sequence[Any]:
        """Refused.

        Raises:
            RuntimeError: always.
        """
        raise _not_there(self._topology)

    def serialize(self) -> bytes:
        """The module, with what it depends on."""
        return write_module(self.code, self._target)

    def memory_analysis(self) -> Mapping[str, int]:
        """Size of the module, in bytes."""
        return {"generated_code_size_in_bytes": len(self.code)}


def _not_there(topology: str) -> RuntimeError:
    return RuntimeError(
        f"{topology} is not on this machine: programs are compiled for it and do not run. Write the module to a file, and load it by an IREE "
        "runtime where the device is."
    )


__all__ = ["BACKEND", "PLATFORMS", "described"]
