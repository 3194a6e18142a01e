"""The backends that are installed: which one is meant, and its devices by name."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from plugjax.core import caches, registry
from plugjax.core.config import config
from plugjax.core.device import Backend, Device, Sharding
from plugjax.core.errors import PluginWarning, UnknownBackendError


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


loaded: dict[tuple[int, str], Backend] = {}
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
    if spec is None and name in _HARDWARE and (owner := _with_hardware(name)):
        return owner
    if spec is None:
        known = ", ".join(sorted(specs)) or "none"
        asleep = registry.active().asleep()
        install = f" Install it: pip install {_INSTALL[name]}." if name in _INSTALL else ""
        raise UnknownBackendError(
            f"Unknown backend {name!r}. Installed backends: {known}.{asleep or install} "
            "`plugjax doctor` lists what is missing."
        )
    return _load(spec)


_HARDWARE = ("cpu", "gpu", "cuda", "rocm", "hip", "vulkan", "metal", "tpu")


def _with_hardware(name: str) -> Backend | None:
    """The best backend with a device of a kind of hardware."""
    for spec in _backends_by_priority():
        owner = _available(spec)
        if owner and any(name in (d.hardware, d.platform) for d in owner.devices()):
            return owner
    return None


def _load(spec: BackendSpec) -> Backend:
    name = spec.name
    key = (id(spec), name)
    found = loaded.get(key)
    if found is None:
        with _lock:
            found = loaded.get(key)
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
                loaded[key] = found
    return found


def default_backend() -> str:
    """Name of the backend of uncommitted arrays: the option ``backend``, else the best that is installed.

    ``PLUGJAX_BACKEND`` is the option's first value.

    Example:
        >>> from plugjax.extend.backend import default_backend
        >>> default_backend() in ("numpy", "xla", "iree")
        True
    """
    named = _named_backend() or _backends_by_priority()[0].name
    return get_backend(named).name if named in _HARDWARE else named


def _named_backend() -> str:
    return str(config.read("backend") or (config.read("platforms") or "").split(",")[0])


# Backends that could not be loaded, and that the user did not name.
unavailable: set[int] = set()


def _backends_by_priority() -> list[BackendSpec]:
    specs = registry.active().backends().values()
    if not specs:
        advice = (
            registry.active().asleep()
            or " Install one: pip install plugjax-numpy (or plugjax-xla, plugjax-iree)."
        )
        raise UnknownBackendError(f"No backend is in force.{advice}")
    return sorted(specs, key=lambda spec: (id(spec) in unavailable, -spec.priority))


def _chosen_backend() -> Backend:
    """The backend that the user named, else the best of those that load."""
    if name := _named_backend():
        return get_backend(name)
    specs = _backends_by_priority()
    for spec in specs[:-1]:
        if found := _available(spec):
            return found
    return _load(specs[-1])


def _available(spec: BackendSpec) -> Backend | None:
    """The backend, if it can be loaded; a warning says why not, once."""
    try:
        return _load(spec)
    except UnknownBackendError as error:
        if id(spec) not in unavailable:
            unavailable.add(id(spec))
            message = f"{error} The next best backend is the default one."
            warnings.warn(message, PluginWarning, stacklevel=4)
    return None


def devices(backend: str | None = None) -> list[Device]:
    """Devices of one backend, or of its hardware (``"cpu"``, ``"gpu"``); the default backend's if none is named.

    Example:
        >>> import plugjax
        >>> plugjax.devices("numpy")
        [Device(numpy:0)]
    """
    named = backend or _named_backend()
    owner = get_backend(named)
    hardware = named if named in _HARDWARE and named != owner.name else None
    return [d for d in owner.devices() if hardware in (None, d.hardware, d.platform)]


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


DeviceLike: TypeAlias = Device | Sharding | str


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
        own = [d for d in devices() if d.process_index == d.backend.processes[0]]
        found = as_device(own[0] if chosen is None else chosen)
        _defaults[key] = found
    return found
