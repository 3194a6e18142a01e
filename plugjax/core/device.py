"""Backends, devices, shardings and placements: where an array lives, and what a machine has to offer.

A device is named ``backend:index`` or ``backend:kind:index``: ``numpy:0``, ``xla:cpu:0``, ``iree:local:0``. A sharding says how
an array is spread over devices; ``plugjax.meshes`` has those over several. A *placement* joins a sharding with whether
the user chose it (committed); placements are interned and part of every compilation key.

Required of a backend: ``devices``, ``put``, ``get``, ``compile``. The front end settles shapes, dtypes, broadcasting and
promotion; a backend gets output avals and does not guess. A backend that only compiles is complete: eager evaluation
then compiles single equations. Where the host sees a device's memory, host kernels (``impl`` rules) run eager primitives.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from plugjax.core.above import Extensible
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.core.primitive import Primitive


class Device(Extensible):
    """One device of a backend.

    Attributes:
        backend: the backend that owns it.
        kind: what it is, within the backend (``cpu``, ``cuda``, ``local`` ...; empty if there is only one kind).
        hardware: what runs its programs: ``cpu``, ``cuda``, ``vulkan`` ...; the kind, if nothing else is said, else ``cpu``.
        id: index among the backend's devices of that kind.
        description: words for a table.
        process_index: index of the process that owns it, among those of the program.
        host_visible: whether NumPy can look at its memory.
        eager_limit: number of elements above which an eager primitive is compiled instead of run by its host kernel.
    """

    __slots__ = (
        "__weakref__", "backend", "committed", "description", "eager_limit", "hardware", "host_visible", "id", "kind",
        "process_index", "uncommitted",
    )  # fmt: skip

    def __init__(
        self,
        backend: Backend,
        kind: str,
        index: int,
        description: str = "",
        hardware: str = "",
        process_index: int = 0,
        host_visible: bool = True,
        eager_limit: float = float("inf"),
    ) -> None:
        self.backend = backend
        self.kind = kind
        self.hardware = hardware or kind or "cpu"
        self.id = index
        self.description = description
        self.process_index = process_index
        self.host_visible, self.eager_limit = host_visible, eager_limit
        sharding = SingleDeviceSharding(self)
        self.committed = Placement(sharding, True)
        self.uncommitted = Placement(sharding, False)

    @property
    def platform(self) -> str:
        """What runs its programs, in JAX's words: ``cpu``, ``gpu`` or another hardware's name."""
        return "gpu" if self.hardware in ("cuda", "hip", "rocm") else self.hardware

    @property
    def device_kind(self) -> str:
        """Words that describe the hardware."""
        return self.description or self.kind or self.backend.name

    def __str__(self) -> str:
        parts = (self.backend.name, self.kind, str(self.id))
        return ":".join(part for part in parts if part)

    def __repr__(self) -> str:
        return f"Device({self})"


class Sharding(Extensible):
    """How an array is spread over devices: each axis is cut into a number of blocks, and each device holds one block.

    A subclass gives ``devices``, ``counts`` and ``positions``; what JAX asks of a sharding beyond that follows from them
    (``plugjax.meshes.geometry``).
    """

    __slots__ = ("__weakref__",)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices, in an order that all its methods keep."""
        raise TypeError(f"{type(self).__name__} has no devices")

    def counts(self, ndim: int) -> tuple[int, ...]:
        """Into how many blocks each axis of an array of this rank is cut."""
        return (1,) * ndim

    def positions(self, ndim: int) -> Sequence[tuple[int, ...]]:
        """The block that each device holds, as an index for each axis."""
        return [(0,) * ndim] * len(self.devices)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds the whole array."""
        return len(self.devices) == 1

    @property
    def whole(self) -> Sharding:
        """How arrays of any rank are on the same devices, each of which has them whole."""
        return self

    def typed(self, aval: ShapedArray) -> ShapedArray:
        """The type of an array that is spread so: without a spread, unless types of this sharding say it."""
        return aval if aval.spread is None else aval.update(spread=None)

    @property
    def committed(self) -> Placement:
        """The placement of arrays that the user put here; equal shardings have one."""
        found = _placements.get(self)
        return found or _placements.setdefault(self, Placement(self, True))


class SingleDeviceSharding(Sharding):
    """The whole array on one device, in a kind of its memory."""

    __slots__ = ("_key", "device", "memory_kind")

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None:
        self.device = device
        self.memory_kind = (memory_kind and device.checked_memory_kind(memory_kind)) or "device"
        self._key = (device, self.memory_kind)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The one device."""
        return (self.device,)

    @property
    def committed(self) -> Placement:
        """The placement of arrays that the user put here."""
        return self.device.committed if self.memory_kind == "device" else super().committed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingleDeviceSharding) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        words = "" if self.memory_kind == "device" else f", memory_kind={self.memory_kind}"
        return f"SingleDeviceSharding({self.device}{words})"


class Placement:
    """A sharding, and whether the user chose it. One object per sharding and flag: compare by identity.

    Attributes:
        sharding: the sharding.
        committed: whether the user chose it.
        device: what a backend puts values on: the device, or the sharding if there are several.
        backend: the backend of the devices.
        several: whether there are several devices.
        host_visible: whether NumPy can look at their memory.
        whole: the placement of whole arrays, of any rank, on these devices.
    """

    __slots__ = ("__weakref__", "backend", "committed", "device", "host_visible", "several", "sharding", "whole")  # fmt: skip

    def __init__(self, sharding: Sharding, committed: bool) -> None:
        first, *others = sharding.devices
        self.sharding = sharding
        self.committed = committed
        self.several = bool(others)
        self.host_visible = first.host_visible
        self.device: Any = sharding if others else first
        self.backend: Any = first.backend
        whole = sharding.whole
        self.whole: Placement = self if whole is sharding else whole.committed

    def __repr__(self) -> str:
        return f"Placement({self.device}, committed={self.committed})"


_placements: weakref.WeakValueDictionary[Sharding, Placement] = weakref.WeakValueDictionary()


class Executable:
    """A compiled program.

    Attributes:
        host: whether ``run`` takes and gives NumPy arrays instead of the backend's buffers.
        donated: indices of arguments whose memory the program takes over.
        cache_key: under which the persistent cache has it; empty if it does not.
        verification: the state of the comparison with NumPy, if a plugin verifies programs.
        partition: how it is spread over devices (a ``Partition``), nothing left open; ``None`` if one memory holds it.
    """

    host: bool = False
    donated: frozenset[int] = frozenset()
    cache_key: str = ""
    verification: Any = None
    partition: Any = None

    def run(self, buffers: Sequence[Any]) -> Sequence[Any]:
        """Run on buffers, one per argument; give one buffer per result."""
        raise TypeError(f"{type(self).__name__} cannot run")

    def taking_values(
        self, avals: Mapping[int, ShapedArray]
    ) -> Callable[[list[Any]], Sequence[Any]] | None:
        """``run`` for calls in which the arguments at these positions are NumPy arrays or numbers instead of buffers.

        It reads them before it returns, and converts them to the dtypes; the list of arguments is its own to change. ``None``:
        the values are put on the device one by one.
        """
        return None

    def as_text(self) -> str:
        """The program as the backend's compiler left it."""
        return ""

    def cost_analysis(self) -> Mapping[str, float]:
        """Estimated cost, in the backend's own terms (``flops``, ``bytes accessed`` ...)."""
        return {}

    def memory_analysis(self) -> Any:
        """Sizes in bytes of arguments, results and temporaries, if the backend tells."""
        return None


class Backend(Extensible):
    """What a machine has to offer; subclass it and describe it to the hook ``plugjax_backends``.

    Attributes:
        name: platform name: of devices, of lowering rules, in ``PLUGJAX_BACKEND``.
        partitions: whether its compiler spreads a program over several devices; else these share one memory.
        processes: index of this process among those of the program, and their number.
        dialects: the textual forms of programs that ``lower`` knows, the usual one first.
        lowers_for: hardware that it writes programs for, also without a device of it.
        compiles_only: whether its devices are not there: programs are compiled for them, with all their constants, and cannot run.
        careful_options: compile options by which its compiler makes as few mistakes as it can, at the cost of speed.
        patience: number of equations up to which a program is waited for; NumPy computes a longer one until it is compiled (``tiered``).
    """

    name: str
    dialects: tuple[str, ...] = ()
    partitions: bool = False
    lowers_for: tuple[str, ...] = ()
    compiles_only: bool = False
    processes: tuple[int, int] = (0, 1)
    careful_options: Mapping[str, Any] = MappingProxyType({})
    patience: float = float("inf")

    def devices(self) -> Sequence[Device]:
        """The devices, the default one first. Cheap: opens no hardware that is not asked for."""
        raise TypeError(f"backend {self.name}: devices() is required")

    def put(self, value: np.ndarray[Any, Any], device: Device) -> Any:
        """Copy or share a NumPy array into a buffer. The array is never written to again.

        A backend whose devices are several gets a sharding in place of the device for arrays that are spread.
        """
        raise TypeError(f"backend {self.name}: put() is required")

    def get(self, buffer: Any, aval: ShapedArray, device: Device) -> np.ndarray[Any, Any]:
        """The values of a buffer that was put on a device (or on a sharding), sharing memory where that is possible."""
        raise TypeError(f"backend {self.name}: get() is required")

    def block(self, buffer: Any, index: int) -> Any:
        """The part of a spread buffer on the ``index``-th of its devices; ``None`` if the buffer is whole."""

    def compile(self, jaxpr: ClosedJaxpr, device: Device, options: Mapping[str, Any]) -> Executable:
        """Compile a checked program for a device.

        Args:
            jaxpr: the program; ``jaxpr.consts`` are embedded.
            device: where it will run.
            options: ``name``, ``donated`` (argument indices), ``partition`` (for programs over several devices: a
                ``plugjax.meshes.partition.Partition``), and the backend's own.
        """
        raise TypeError(f"backend {self.name}: compile() is required")

    def lower(self, jaxpr: ClosedJaxpr, options: Mapping[str, Any], dialect: str) -> str:
        """The program in a form that the compiler takes, as text.

        Args:
            jaxpr: the program.
            options: as for :meth:`compile`, and ``debug_info``: whether to write where operations come from.
            dialect: one of ``dialects``.
        """
        raise TypeError(f"backend {self.name} has no textual form")

    def workarounds(self) -> Sequence[tuple[str, ...]]:
        """What is worked around in its compiler, for ``plugjax doctor --workarounds``.

        Returns:
            Rows of name, stage, defect, what happens without it, the version of the compiler in which it was last seen, the
            installed version, and state (``"on"`` or ``"off"``); in the order in which they run.
        """
        return ()

    def reproduction_script(self) -> str | None:
        """A Python script that runs the program of a report of wrong results, for the report's folder; ``None`` if there is none."""
        return None

    def delete(self, buffer: Any) -> None:
        """Give up a buffer's memory now."""

    def block_until_ready(self, buffer: Any) -> None:
        """Wait until a buffer's values are there."""

    def is_ready(self, buffer: Any) -> bool:
        """Whether a buffer's values are there; a backend whose programs run on after a call says so itself."""
        return True

    def runs_on_host(
        self,
        device: Device,
        primitive: Primitive,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
    ) -> bool:
        """Whether an eager primitive should run by its host kernel rather than be compiled."""
        if (mode := config.read("eager")) == "host":
            return True
        if mode == "compile" or primitive.structured or not device.host_visible:
            return False
        return sum(aval.size for aval in (*in_avals, *out_avals)) <= device.eager_limit

    def __repr__(self) -> str:
        return f"Backend({self.name})"
