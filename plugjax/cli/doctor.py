"""``plugjax doctor``: what is installed, in which version, what is missing, and the command that mends it."""

from __future__ import annotations

import importlib.metadata
import platform

from rich.console import Console
from rich.table import Table

from plugjax.core import registry
from plugjax.core.backend import default_backend, get_backend
from plugjax.core.compilation_cache import default_cache
from plugjax.core.errors import UnknownBackendError

# Distribution, what it is for, and how it comes.
_WANTED = (
    ("plugjax", "the framework", "pip install plugjax"),
    ("numpy", "arrays on the host", "pip install numpy"),
    ("optree", "pytrees", "pip install optree"),
    ("pluggy", "plugins", "pip install pluggy"),
    ("ml_dtypes", "bfloat16 and other small dtypes", "pip install ml_dtypes"),
    (
        "plugjax-numpy",
        "the NumPy backend and all host kernels",
        "pip install ./plugins/numpy_backend",
    ),
    ("scipy", "special functions of the host kernels", "pip install scipy"),
    ("plugjax-xla", "the XLA backend", "pip install ./plugins/xla_backend"),
    ("jaxlib", "XLA, and StableHLO for IREE too", "pip install 'jaxlib>=0.10.2,<0.13'"),
    ("plugjax-iree", "the IREE backend", "pip install ./plugins/iree_backend"),
    ("iree-base-compiler", "IREE's compiler", "pip install 'iree-base-compiler>=3.13,<3.14'"),
    ("iree-base-runtime", "IREE's runtime", "pip install 'iree-base-runtime>=3.13,<3.14'"),
)


def run(console: Console) -> bool:
    """Print the report; returns whether everything is there and works."""
    healthy = True
    table = Table("distribution", "for", "version", title=f"Python {platform.python_version()}")
    mend: list[str] = []
    for name, purpose, command in _WANTED:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = "[red]missing[/red]"
            mend.append(command)
            healthy = False
        table.add_row(name, purpose, version)
    console.print(table)
    for plugin in registry.active().plugins:
        if plugin.error is not None:
            healthy = False
            console.print(
                f"[red]plugin {plugin.name}[/red] of {plugin.distribution}: {plugin.error}"
            )
            mend.append(f"pip install --force-reinstall {plugin.distribution}")
    states = Table("backend", "devices")
    for name in sorted(registry.active().backends()):
        try:
            found = ", ".join(str(d) for d in get_backend(name).devices())
        except UnknownBackendError as error:
            found, healthy = f"[red]{error}[/red]", False
        states.add_row(name, found)
    console.print(states)
    try:
        console.print(f"default backend: {get_backend(default_backend()).name}")
    except UnknownBackendError as error:
        console.print(f"[red]{error}[/red]")
        healthy = False
    cache = default_cache()
    console.print(
        "compilation cache: " + (f"{cache.directory}, {cache.size():,} bytes" if cache else "off")
    )
    for command in mend:
        console.print(f"to mend: [bold]{command}[/bold]", highlight=False)
    if healthy:
        console.print("[green]all is well[/green]")
    return healthy
