"""Hardware on the command line that need not be there: ``tpu:v5e:2x2``, ``cuda:a100``, ``iree:cuda:sm_80``, ``vulkan``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plugjax.experimental.topologies import get_topology_desc
from plugjax.extend import registry
from plugjax.extend.backend import Backend, get_backend
from plugjax.extend.core import Device
from plugjax.extend.execution import backend_for_hardware

HELP = "Hardware, which need not be there: tpu:v5e:2x2, cuda:a100, cuda:FILE.txtpb, iree:cuda:sm_80, iree:vulkan. A backend may stand before it."

# What is compiled for if only the hardware is named.
_TOPOLOGIES = {
    ("", "tpu"): "v5e:2x2",
    ("xla", "tpu"): "v5e:2x2",
    ("", "cuda"): "a100",
    ("xla", "cuda"): "a100",
    ("iree", "cuda"): "sm_80",
    ("iree", "rocm"): "gfx942",
    ("", "rocm"): "gfx942",
}


@dataclass(frozen=True)
class Hardware:
    """Hardware by name.

    Attributes:
        name: its name among all hardware: ``tpu``, ``cuda`` and so on.
        backend: the backend that is to compile; empty for the best one.
        topology: its model and layout, in the compiler's words.
    """

    name: str
    backend: str = ""
    topology: str = ""

    def devices(self) -> list[Device]:
        """Devices that programs are compiled for.

        Raises:
            RuntimeError: what compiles for it is not installed, or knows no such topology.
            NotImplementedError: no plugin compiles for it.
        """
        platform = f"{self.backend}:{self.name}" if self.backend else self.name
        if self.topology.endswith(".txtpb"):
            given: dict[str, Any] = {"target_config": _text(self.topology)}
            return get_topology_desc("", platform, **given).devices
        return get_topology_desc(self.topology, platform).devices

    def lowered_by(self) -> Backend:
        """The backend that writes programs for it.

        Raises:
            ValueError: none does.
        """
        if not self.backend:
            return backend_for_hardware((self.name,), get_backend())
        backend = get_backend(self.backend)
        if self.name not in backend.lowers_for:
            known = ", ".join(backend.lowers_for) or "no hardware that is not there"
            raise ValueError(
                f"{backend.name} does not lower for {self.name!r}; it does for {known}."
            )
        return backend

    def __str__(self) -> str:
        return ":".join(filter(None, (self.backend, self.name, self.topology)))


def parse_hardware(text: str) -> Hardware:
    """Hardware of its name on the command line.

    Example:
        >>> from plugjax.cli.hardware import parse_hardware
        >>> parse_hardware("iree:cuda:sm_80")
        Hardware(name='cuda', backend='iree', topology='sm_80')
    """
    first, _, rest = text.partition(":")
    backend = first if first in registry.active().backends() else ""
    name, _, topology = (rest if backend else text).partition(":")
    if not name:
        raise ValueError(
            f"{text!r} names no hardware; write tpu:v5e:2x2, cuda:a100 or iree:vulkan."
        )
    return Hardware(name, backend, topology or _TOPOLOGIES.get((backend, name), ""))


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
