"""This process among others, and what is installed: ``process_index`` and its like, ``print_environment_info``."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import warnings

from plugjax.core.backend import devices, get_backend
from plugjax.core.errors import UnknownBackendError
from plugjax.core.registry import active
from plugjax.extend.transforms import show_only

_DISTRIBUTIONS = (
    *("plugjax", "plugjax-numpy", "plugjax-xla", "plugjax-iree", "plugjax-as-jax", "jax"),
    *("jaxlib", "iree-base-runtime", "iree-base-compiler", "numpy", "scipy", "ml_dtypes", "optree"),
    "pluggy",
)


def process_index(backend: str | None = None) -> int:
    """The index of this process among those of a program.

    Raises:
        RuntimeError: there is no such backend.

    Example:
        >>> import plugjax
        >>> plugjax.process_index()
        0
    """
    return get_backend(backend).processes[0]


def process_count(backend: str | None = None) -> int:
    """How many processes a program has.

    Raises:
        RuntimeError: there is no such backend.

    Example:
        >>> import plugjax
        >>> plugjax.process_count()
        1
    """
    return len(process_indices(backend))


def process_indices(backend: str | None = None) -> list[int]:
    """The indices of all processes of a program.

    Raises:
        RuntimeError: there is no such backend.

    Example:
        >>> import plugjax
        >>> plugjax.process_indices("numpy")
        [0]
    """
    return list(range(get_backend(backend).processes[1]))


def host_id(backend: str | None = None) -> int:
    """The older name of :func:`process_index`; as in JAX a warning says so.

    Example:
        >>> import warnings, plugjax
        >>> with warnings.catch_warnings(action="ignore"):
        ...     print(plugjax.host_id())
        0
    """
    _warn_of_name("host_id", "process_index")
    return process_index(backend)


def host_count(backend: str | None = None) -> int:
    """The older name of :func:`process_count`; as in JAX a warning says so.

    Example:
        >>> import warnings, plugjax
        >>> with warnings.catch_warnings(action="ignore"):
        ...     print(plugjax.host_count())
        1
    """
    _warn_of_name("host_count", "process_count")
    return process_count(backend)


def host_ids(backend: str | None = None) -> list[int]:
    """The older name of :func:`process_indices`; as in JAX a warning says so.

    Example:
        >>> import warnings, plugjax
        >>> with warnings.catch_warnings(action="ignore"):
        ...     print(plugjax.host_ids())
        [0]
    """
    _warn_of_name("host_ids", "process_indices")
    return process_indices(backend)


def print_environment_info(return_string: bool = False) -> str | None:
    """Print what a report of a fault needs: versions, Python, devices, the platform.

    ``plugjax bug`` adds plugins and options; ``plugjax doctor`` tries each device.

    Args:
        return_string: give the text and print nothing.

    Example:
        >>> import plugjax
        >>> text = plugjax.print_environment_info(return_string=True)
        >>> text.splitlines()[0]
        'plugjax: 0.1.0'
    """
    rows = [(name, _version(name)) for name in _DISTRIBUTIONS]
    found = [words for name in sorted(active().backends()) for words in _devices(name)]
    rows += [
        ("python", sys.version.replace("\n", " ")),
        ("devices", ", ".join(found)),
        ("process_count", str(process_count())),
        ("platform", str(platform.uname())),
    ]
    text = "\n".join(f"{name}: {value}" for name, value in rows)
    if return_string:
        return text
    print(text)  # noqa: T201  # what it is for
    return None


def _warn_of_name(old: str, new: str) -> None:
    warnings.warn(f"plugjax.{old} is the older name of plugjax.{new}; use that.", stacklevel=3)


def _devices(backend: str) -> list[str]:
    """The devices of a backend, or why there are none: a report must come about in any case."""
    try:
        return [str(device) for device in devices(backend)]
    except UnknownBackendError as error:
        return [f"{backend}: {str(error).splitlines()[0]}"]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


__all__ = [
    "host_count",
    "host_id",
    "host_ids",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
]

show_only(globals(), __all__)
