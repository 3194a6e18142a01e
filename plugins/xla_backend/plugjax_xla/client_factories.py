"""Backends that programs add: each is a function that gives a client of XLA's runtime. Importing this loads nothing of jaxlib."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from plugjax.extend import registry
from plugjax.extend.backend import Backend, BackendSpec, clear_in_memory_compilation_cache

_log = logging.getLogger(__name__)

# The priority of the backend `xla`, which is as good as a registered one of priority 0.
XLA_PRIORITY = 10

# The registered backends by name, for the hook `plugjax_backends`; those that run, as they were registered.
specs: dict[str, BackendSpec] = {}
running: set[str] = set()


def register_backend_factory(
    name: str,
    factory: Callable[[], Any],
    *,
    priority: int = 0,
    fail_quietly: bool = True,
    experimental: bool = False,
    make_topology: Callable[..., Any] | None = None,
    c_api: Any = None,
) -> None:
    """Add a backend: the devices of a client of XLA's runtime, for which XLA compiles.

    Args:
        name: its name, for ``devices(name)``. A name may be registered again until its client is made.
        factory: gives a client of jaxlib, as ``jaxlib.xla_client.make_cpu_client`` and ``make_c_api_client`` do. It is called when the
            backend is first needed, again after ``clear_backends``, and in a forked process.
        priority: the available backend of the highest one is the default; ``xla`` has 0.
        fail_quietly: accepted as in JAX.
        experimental: whether a warning is logged when the client is made.
        make_topology: accepted as in JAX: programs are compiled for devices that are there.
        c_api: accepted as in JAX.

    Raises:
        RuntimeError: a backend of this name runs, or a plugin provides it.

    Differs from JAX:
        Other backends can be in use already. A client that cannot be made is an error where its backend is named; where it would be the
        default, another takes its place with a warning. Hints that only the backend ``xla`` reads are left out of its programs.

    Example:
        >>> import plugjax, jaxlib.xla_client
        >>> from plugjax.extend import backend
        >>> def two_processors():
        ...     return jaxlib.xla_client.make_cpu_client(num_devices=2)
        >>> backend.register_backend_factory("pair", two_processors, priority=-1)  # doctest: +SKIP
        >>> plugjax.devices("pair")  # doctest: +SKIP
        [Device(pair:cpu:0), Device(pair:cpu:1)]
        >>> plugjax.numpy.arange(3, device=plugjax.devices("pair")[1]) + 1  # doctest: +SKIP
        Array([1, 2, 3], dtype=int32)
    """
    del fail_quietly, make_topology, c_api
    known = registry.active().backends()
    if name in running:
        raise RuntimeError(
            f"register_backend_factory: Backend {name} already initialized. Call clear_backends first."
        )
    if name in known and name not in specs:
        raise RuntimeError(
            f"register_backend_factory: a plugin provides the backend {name!r}. Choose another name."
        )
    load = partial(_load, name, factory, experimental)
    # The registry has asked the hook already.
    known[name] = specs[name] = BackendSpec(
        name, load, priority=XLA_PRIORITY + priority, needs=("jaxlib",)
    )
    # The default device may be another one.
    clear_in_memory_compilation_cache()


def _load(name: str, factory: Callable[[], Any], experimental: bool) -> Backend:
    if experimental:
        _log.warning(
            "Platform %r is experimental, and not all functionality may be correctly supported.",
            name,
        )
    found: Backend = importlib.import_module("plugjax_xla.given_clients").GivenBackend(
        name, factory, partial(running.discard, name)
    )
    running.add(name)
    return found
