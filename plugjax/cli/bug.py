"""``plugjax bug``: versions, devices, plugins and options as plain text, to paste into a report."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterator

from plugjax import config
from plugjax.extend import registry
from plugjax.extend.backend import default_backend, get_backend
from plugjax.extend.errors import UnknownBackendError

_DISTRIBUTIONS = (
    "plugjax", "plugjax-numpy", "plugjax-xla", "plugjax-iree", "plugjax-as-jax", "numpy", "scipy", "ml_dtypes", "optree",
    "pluggy", "jax", "jaxlib", "iree-base-compiler", "iree-base-runtime",
)  # fmt: skip


def _versions() -> Iterator[str]:
    yield f"python {platform.python_version()} ({platform.python_implementation()})"
    yield f"system {platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} processors"
    for name in _DISTRIBUTIONS:
        try:
            yield f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            yield f"{name} -"


def _devices() -> Iterator[str]:
    for name in sorted(registry.active().backends()):
        try:
            yield f"{name}: {', '.join(map(str, get_backend(name).devices()))}"
        except UnknownBackendError as error:
            yield f"{name}: {str(error).splitlines()[0]}"
    try:
        yield f"default: {default_backend()}"
    except UnknownBackendError as error:
        yield f"default: {str(error).splitlines()[0]}"


def _plugins() -> Iterator[str]:
    for plugin in registry.active().plugins:
        state = "blocked" if plugin.blocked else "loaded"
        if plugin.error is not None:
            state = f"skipped: {type(plugin.error).__name__}: {plugin.error}"
        elif plugin.faults:
            state = f"failed in {', '.join(plugin.faults)}"
        yield f"{plugin.name} ({plugin.distribution} {plugin.version}): {state}"


def _options() -> Iterator[str]:
    registry.active()
    for name, option in sorted(config.options.items()):
        value = config.read(name)
        if value != option.default:
            yield f"jax_{name} = {value!r}"


def _variables() -> Iterator[str]:
    # Only our own: others may hold secrets.
    for name, value in sorted(os.environ.items()):
        if name.startswith("PLUGJAX_"):
            yield f"{name}={value}"


def text() -> str:
    """The report.

    Example:
        >>> from plugjax.cli import bug
        >>> bug.text().splitlines()[0]
        'versions'
    """
    parts = {
        "versions": _versions(),
        "devices": _devices(),
        "plugins": _plugins(),
        "options that are not the default": _options(),
        "variables": _variables(),
    }
    lines = []
    for title, found in parts.items():
        lines += [title, *(f"  {line}" for line in found)]
    return "\n".join(lines)
