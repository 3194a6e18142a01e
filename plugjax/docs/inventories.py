"""Names of Python, NumPy and JAX as targets of links: inventories in Sphinx's format, written without network.

The addresses follow from the names: JAX and NumPy give a function a page of its own, NumPy lists its scalar types on one
page, and Python its exceptions.
"""

from __future__ import annotations

import builtins
import functools
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from plugjax.cli import parity

SITES = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "jax": "https://docs.jax.dev/en/latest",
}


@functools.cache
def names(project: str) -> Mapping[str, tuple[str, str]]:
    """The role and the address of each name of a project, the address below its site.

    Args:
        project: ``"python"``, ``"numpy"`` or ``"jax"``.

    Example:
        >>> from plugjax.docs.inventories import names
        >>> names("python")["ValueError"]
        ('exception', 'library/exceptions.html#ValueError')
        >>> names("numpy")["numpy.linalg.norm"][1]
        'reference/generated/numpy.linalg.norm.html#numpy.linalg.norm'
    """
    if project == "python":
        return {
            name: ("exception", f"library/exceptions.html#{name}")
            for name, value in vars(builtins).items()
            if isinstance(value, type) and issubclass(value, BaseException)
        }
    listed = {
        f"jax.{namespace}.{name}"
        for namespace, found in parity.listed().items()
        for name in found
        if not name.endswith("_p")
    }
    if project == "jax":
        return {each: ("function", f"_autosummary/{each}.html#{each}") for each in listed}
    modules = {"numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft}
    found = {}
    for name in (each.removeprefix("jax.") for each in listed):
        module, _, last = name.rpartition(".")
        value = getattr(modules.get(module), last, None)
        if isinstance(value, type) and issubclass(value, np.generic):
            found[name] = ("class", f"reference/arrays.scalars.html#{name}")
        elif callable(value):
            found[name] = ("function", f"reference/generated/{name}.html#{name}")
    return found


def write(folder: Path) -> dict[str, tuple[str, str]]:
    """Write the inventories; gives what Sphinx's `intersphinx_mapping` takes.

    Args:
        folder: for the files; made if it is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for project, site in SITES.items():
        lines = [
            f"{name} py:{role} 1 {address} -\n"
            for name, (role, address) in sorted(names(project).items())
        ]
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n# The remainder of this file is compressed using zlib.\n"
        file = folder / f"{project}.inv"
        file.write_bytes(head.encode() + zlib.compress("".join(lines).encode()))
        mapping[project] = (site, str(file))
    return mapping


def link(project: str, name: str) -> str:
    """A name that a project has, as a link in Markdown."""
    return f"{{external+{project}:py:obj}}`{name}`"
