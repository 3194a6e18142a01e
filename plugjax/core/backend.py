"""Backends: the machines behind devices, chosen per device.

Required of a backend: ``devices``, ``put``, ``get``, ``compile``. The front end settles shapes, dtypes, broadcasting and
promotion; a backend gets output avals and does not guess. A backend that only compiles is complete: eager evaluation
then compiles single equations. Where the host sees a device's memory, host kernels (``impl`` rules) run eager primitives.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from plugjax.core import caches, registry
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.device import Device, Sharding
from plugjax.core.errors import PluginWarning, UnknownBackendError
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.core.primitive import Primitive


class Executable:
    """A compiled program.

    Attributes:
        host: whether ``run`` takes and gives NumPy arrays instead of the backend's buffers.
        donated: indices of arguments whose memory the program takes over.
        cache_key: under which the persistent cache has it; empty if it does not.
        verification: the state of the comparison with NumPy, if a plugin verifies programs.
    """

    host: bool = False
    donated: frozenset[int] = frozenset()
    cache_key: str = ""
    verification: Any = None

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


class Backend:
    """What a machine has to offer; subclass it and describe it to the hook ``plugjax_backends``.

    Attributes:
        name: platform name: of devices, of lowering rules, in ``PLUGJAX_BACKEND``.
        host_visible: whether NumPy can look at the memory of all its devices.
        eager_limit: number of elements above which an eager primitive is compiled instead of run by its host kernel.
        dialects: the textual forms of programs that ``lower`` knows, the usual one first.
        careful_options: compile options by which its compiler makes as few mistakes as it can, at the cost of speed.
    """

    name: str
    dialects: tuple[str, ...] = ()
    host_visible: bool = True
    eager_limit: float = float("inf")
    careful_options: Mapping[str, Any] = MappingProxyType({})

    def devices(self) -> Sequence[Device]:
        """The devices, the default one first. Cheap: opens no hardware that is not asked for."""
        raise TypeError(f"backend {self.name}: devices() is required")

    def put(self, value: np.ndarray[Any, Any], device: Device) -> Any:
        """Copy or share a NumPy array into a buffer. The array is never written to again."""
        raise TypeError(f"backend {self.name}: put() is required")

    def get(self, buffer: Any, aval: ShapedArray) -> np.ndarray[Any, Any]:
        """The values of a buffer, sharing memory where that is possible."""
        raise TypeError(f"backend {self.name}: get() is required")

    def compile(self, jaxpr: ClosedJaxpr, device: Device, options: Mapping[str, Any]) -> Executable:
        """Compile a checked program for a device.

        Args:
            jaxpr: the program; ``jaxpr.consts`` are embedded.
            device: where it will run.
            options: ``name``, ``donated`` (argument indices), and the backend's own.
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

    def runs_on_host(
        self,
        primitive: Primitive,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
    ) -> bool:
        """Whether an eager primitive should run by its host kernel rather than be compiled."""
        if not self.host_visible:
            return False
        mode = config.read("eager")
        if mode == "host":
            return True
        if mode == "compile" or primitive.structured:
            return False
        return sum(aval.size for aval in (*in_avals, *out_avals)) <= self.eager_limit

    def __repr__(self) -> str:
        return f"Backend({self.name})"


@dataclass(frozen=True)
class BackendSpec:
    """A backend described before it is loaded.

    Attributes:
        name: its name.
        load: imports and makes it; may raise, which makes the backend unavailable with that reason.
        priority: the default backend is the available one with the highest.
        needs: modules that must be importable for it to count as installed.
        verify: how its programs are verified unless the user says: ``"off"`` or ``"first"``.
    """

    name: str
    load: Callable[[], Backend]
    priority: int = 0
    needs: Sequence[str] = ()
    verify: str = "off"


_loaded: dict[tuple[int, str], Backend] = {}
_lock = threading.RLock()
_INSTALL = {"numpy": "plugjax-numpy", "xla": "plugjax-xla", "iree": "plugjax-iree"}


def get_backend(name: str | None = None) -> Backend:
    """The backend called ``name``, or the default one.

    Raises:
        UnknownBackendError: no plugin provides it, or it could not be loaded.
    """
    if not name:
        return _chosen_backend()
    specs = registry.active().backends()
    spec = specs.get(name)
    if spec is None:
        known = ", ".join(sorted(specs)) or "none"
        asleep = registry.active().asleep()
        install = f" Install it: pip install {_INSTALL[name]}." if name in _INSTALL else ""
        raise UnknownBackendError(
            f"Unknown backend {name!r}. Installed backends: {known}.{asleep or install} "
            "`plugjax doctor` lists what is missing."
        )
    return _load(spec)


def _load(spec: BackendSpec) -> Backend:
    name = spec.name
    key = (id(spec), name)
    found = _loaded.get(key)
    if found is None:
        with _lock:
            found = _loaded.get(key)
            if found is None:
                try:
                    found = spec.load()
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # SystemExit too
                    raise UnknownBackendError(
                        f"Unable to initialize backend {name!r}: {type(error).__name__}: {error}. "
                        "`plugjax doctor` says what is missing."
                    ) from error
                _loaded[key] = found
    return found


def default_backend() -> str:
    """Name of the backend of uncommitted arrays: the option ``backend``, else the best that is installed.

    ``PLUGJAX_BACKEND`` is the option's first value.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> plugjax.default_backend() in ("numpy", "xla", "iree")
        True
    """
    return _named_backend() or _backends_by_priority()[0].name


def _named_backend() -> str:
    return str(config.read("backend") or "")


# Backends that could not be loaded, and that the user did not name.
_unavailable: set[int] = set()


def _backends_by_priority() -> list[BackendSpec]:
    specs = registry.active().backends().values()
    if not specs:
        raise UnknownBackendError(
            "No backend is in force."
            + (
                registry.active().asleep()
                or " Install one: pip install plugjax-numpy (or plugjax-xla, plugjax-iree)."
            )
        )
    return sorted(specs, key=lambda spec: (id(spec) in _unavailable, -spec.priority))


def _chosen_backend() -> Backend:
    """The backend that the user named, else the best of those that load."""
    if name := _named_backend():
        return get_backend(name)
    specs = _backends_by_priority()
    for spec in specs[:-1]:
        try:
            return _load(spec)
        except UnknownBackendError as error:
            if id(spec) not in _unavailable:
                _unavailable.add(id(spec))
                warnings.warn(
                    f"{error} The next best backend is the default one.",
                    PluginWarning,
                    stacklevel=3,
                )
    return _load(specs[-1])


def devices(backend: str | None = None) -> list[Device]:
    """Devices of one backend; the default backend's if it is not named.

    Example:
        >>> import plugjax
        >>> plugjax.devices("numpy")
        [Device(numpy:0)]
    """
    return list(get_backend(backend).devices())


def device(name: str) -> Device:
    """The device with a given name, such as ``"iree:local:0"``; ``"iree"`` is the backend's first one.

    Raises:
        UnknownBackendError: no such backend.
        ValueError: the backend has no such device.
    """
    owner = get_backend(name.split(":")[0])
    found = owner.devices()
    if ":" not in name:
        return found[0]
    for candidate in found:
        if str(candidate) == name:
            return candidate
    raise ValueError(
        f"device {name!r} does not exist. Devices of {owner.name}: {', '.join(str(d) for d in found)}"
    )


def as_device(target: Any) -> Device:
    """The device that a user's argument means: a Device, a sharding, or a name."""
    if isinstance(target, Device):
        return target
    if isinstance(target, str):
        return device(target)
    single = getattr(target, "device", None) if isinstance(target, Sharding) else None
    if isinstance(single, Device):
        return single
    raise ValueError(
        f"expected a Device, a sharding on one device, or a device name; got {target!r}"
    )


_defaults = caches.new_cache()


def default_device() -> Device:
    """The device of uncommitted arrays."""
    key = config.fingerprint
    found: Device | None = _defaults.get(key)
    if found is None:
        chosen = config.read("default_device")
        found = as_device(chosen) if chosen is not None else get_backend().devices()[0]
        _defaults[key] = found
    return found
