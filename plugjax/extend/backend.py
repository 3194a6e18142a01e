"""What a backend is, and those that are installed."""

import weakref
from typing import Any

from plugjax.core import caches
from plugjax.core.backend import (
    BackendSpec,
    DeviceLike,
    default_backend,
    default_device,
    default_device as get_default_device,
    device,
    devices,
    get_backend,
    loaded,
    unavailable,
)
from plugjax.core.device import Backend, Executable
from plugjax.core.errors import UnknownBackendError
from plugjax.core.registry import active
from plugjax.execution.jit.api import clear_caches as clear_in_memory_compilation_cache
from plugjax.extend import extensions
from plugjax.meshes.virtual import virtual_cpu_devices


def backends() -> dict[str, Backend]:
    """The installed backends by name, the one of highest priority first; those that cannot be loaded are left out."""
    found = {}
    for spec in sorted(active().backends().values(), key=lambda spec: -spec.priority):
        try:
            found[spec.name] = get_backend(spec.name)
        except UnknownBackendError:
            continue
    return found


def clear_backends() -> None:
    """Give up all backends that were loaded, with their devices; they are loaded anew when they are needed.

    Runtimes are started anew, so ``jax_num_cpu_devices`` may be changed before. Compiled functions and all caches are dropped: jitted
    functions are traced again. Arrays and ``Compiled`` objects of before keep the devices of before, and work with them.

    Raises:
        RuntimeError: other processes compute with this one.

    Differs from JAX:
        What is computed of arrays of before stays on their devices, and is not moved to the new ones.

    Example:
        >>> import plugjax
        >>> from plugjax.extend import backend
        >>> x, before = plugjax.numpy.ones(2), plugjax.devices()[0]
        >>> backend.clear_backends()  # doctest: +SKIP
        >>> plugjax.devices()[0] == before, x + 1  # doctest: +SKIP
        (False, Array([2., 2.], dtype=float32))
    """
    for each in list(loaded.values()):
        drop = getattr(each, "drop_clients", None)
        if drop is not None:
            drop()
    loaded.clear()
    unavailable.clear()
    clear_in_memory_compilation_cache()


class _Registered(caches.Cache):
    """A cache of a program's own, which is emptied with the others."""

    __slots__ = ("_cache",)

    def __init__(self, cache: Any) -> None:
        super().__init__()
        self._cache = weakref.ref(cache)

    def clear(self) -> None:
        """Empty it."""
        cache = self._cache()
        if cache is not None:
            cache.cache_clear()


_registered: weakref.WeakKeyDictionary[Any, caches.Cache] = weakref.WeakKeyDictionary()


def register_backend_cache(cache: Any, for_what: str) -> None:
    """Have a cache emptied where those of the framework are, by ``clear_caches``.

    Args:
        cache: has a method ``cache_clear``, as what ``functools.lru_cache`` gives.
        for_what: what it is for; accepted as in JAX.

    Example:
        >>> import functools, plugjax
        >>> from plugjax.extend import backend
        >>> f = functools.lru_cache(lambda x: x + 1)
        >>> backend.register_backend_cache(f, "sums")
        >>> _ = f(1), plugjax.clear_caches()
        >>> f.cache_info().currsize
        0
    """
    _registered[cache] = caches.new_cache(lambda: _Registered(cache))


def backend_xla_version(platform: str | None = None) -> int | None:
    """The version of XLA that a backend says it is made of; ``None`` if it says none, as backends of processors do.

    Args:
        platform: the backend; the default one, if left out.

    Raises:
        UnknownBackendError: no plugin provides it.

    Example:
        >>> from plugjax.extend import backend
        >>> backend.backend_xla_version("numpy")
    """
    version: int | None = getattr(get_backend(platform), "xla_version", None)
    return version


def __getattr__(name: str) -> Any:
    return extensions.attribute("backend", "XLA's runtime", name)


def __dir__() -> list[str]:
    return sorted([*__all__, *extensions.names("backend")])


__all__ = [
    "Backend",
    "BackendSpec",
    "DeviceLike",
    "Executable",
    "backend_xla_version",
    "backends",
    "clear_backends",
    "clear_in_memory_compilation_cache",
    "default_backend",
    "default_device",
    "device",
    "devices",
    "get_backend",
    "get_default_device",
    "register_backend_cache",
    "virtual_cpu_devices",
]
