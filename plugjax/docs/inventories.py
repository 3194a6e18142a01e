"""Names of Python, NumPy and JAX as targets of links: inventories in Sphinx's format, written without network.

The addresses follow from the names: JAX and NumPy give each function and class a page of its own, Python lists its exceptions on one page.
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
    modules = {"jax.numpy": np, "jax.numpy.linalg": np.linalg, "jax.numpy.fft": np.fft}
    return {
        (full := each.removeprefix("jax.")): (
            "function",
            f"reference/generated/{full}.html#{full}",
        )
        for each in listed
        if callable(getattr(modules.get(each.rpartition(".")[0]), each.rpartition(".")[2], None))
    }


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
    """A name as a link in Markdown; as code if the project has no such name."""
    return f"{{external+{project}:py:obj}}`{name}`" if name in names(project) else f"`{name}`"
