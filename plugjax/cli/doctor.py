"""``plugjax doctor``: what is installed, in which version, what is missing, and the command that installs it.

Every device runs a small program in a separate process, because a listed device may hang, crash or compute wrongly.
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from plugjax import guard
from plugjax.cli import doctor_workarounds, programs
from plugjax.cli.probe import probe
from plugjax.cli.terminal import console, working
from plugjax.extend import registry
from plugjax.extend.backend import default_backend, get_backend
from plugjax.extend.errors import UnknownBackendError
from plugjax.extend.execution import default_cache

# (distribution, purpose, command that installs it).
_WANTED = (
    ("plugjax", "the framework", "pip install plugjax"),
    ("numpy", "arrays on the host", "pip install numpy"),
    ("optree", "pytrees", "pip install optree"),
    ("pluggy", "plugins", "pip install pluggy"),
    ("ml_dtypes", "bfloat16 and other small dtypes", "pip install ml_dtypes"),
    (
        "plugjax-numpy",
        "the NumPy backend and all host kernels",
        "pip install plugjax-numpy",
    ),
    ("scipy", "special functions of the host kernels", "pip install scipy"),
    ("plugjax-xla", "the XLA backend", "pip install plugjax-xla"),
    ("jaxlib", "XLA, and StableHLO for IREE too", "pip install 'jaxlib>=0.10.2,<0.13'"),
    ("plugjax-iree", "the IREE backend", "pip install plugjax-iree"),
    ("iree-base-compiler", "IREE's compiler", "pip install 'iree-base-compiler>=3.13,<3.14'"),
    ("iree-base-runtime", "IREE's runtime", "pip install 'iree-base-runtime>=3.13,<3.14'"),
)


_MOST_TOLD = 20


def command(
    workarounds: Annotated[
        bool, typer.Option(help="List what is worked around in the backends' compilers.")
    ] = False,
    as_jax: Annotated[
        bool,
        typer.Option(
            "--as-jax", help="List names of JAX that installed libraries ask for in vain."
        ),
    ] = False,
) -> None:
    """Say what is installed, what is missing, and the command that installs it."""
    if workarounds:
        doctor_workarounds.run(console)
    elif as_jax:
        programs.alias().doctor(console)
    elif not run(console):
        raise typer.Exit(1)


def run(console: Console) -> bool:
    """Print the report; returns whether everything is installed and works."""
    healthy = True
    table = Table("distribution", "for", "version", title=f"Python {platform.python_version()}")
    repairs: list[str] = []
    for name, purpose, command in _WANTED:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = "[red]missing[/red]"
            repairs.append(command)
            healthy = False
        table.add_row(name, purpose, version)
    console.print(table)
    for plugin in registry.active().plugins:
        if plugin.error is not None:
            healthy = False
            console.print(
                f"[red]plugin {plugin.name}[/red] of {plugin.distribution}: {escape(str(plugin.error))}"
            )
            repairs.append(f"pip install --force-reinstall {plugin.distribution}")
        for hook, fault in plugin.faults.items():
            healthy = False
            console.print(
                f"[red]plugin {plugin.name}[/red] of {plugin.distribution} failed in {hook}: "
                + escape(f"{type(fault).__name__}: {fault}")
            )
    healthy &= _print_devices(console)
    try:
        console.print(f"default backend: {get_backend(default_backend()).name}")
    except UnknownBackendError as error:
        console.print(f"[red]{escape(str(error))}[/red]")
        healthy = False
    healthy &= _print_cache(console)
    _print_verification(console)
    for command in repairs:
        console.print(f"to repair: [bold]{escape(command)}[/bold]", highlight=False)
    if healthy:
        console.print("[green]all is well[/green]")
    return healthy


def _print_devices(console: Console) -> bool:
    """Run a small program on each device and print the answers; returns whether all are right."""
    table = Table("backend", "device", "answer")
    rows: list[tuple[str, str]] = []
    healthy = True
    for name in sorted(registry.active().backends()):
        try:
            rows += [(name, str(device)) for device in get_backend(name).devices()]
        except UnknownBackendError as error:
            table.add_row(name, "-", f"[red]{escape(str(error))}[/red]")
            healthy = False
    with working("running a program on each device"), ThreadPoolExecutor(max_workers=2) as pool:
        faults = list(pool.map(probe, [device for _, device in rows]))
    for (name, device), fault in zip(rows, faults, strict=True):
        table.add_row(name, device, f"[red]{escape(fault)}[/red]" if fault else "right")
        healthy &= not fault
    console.print(table)
    if any(name == "iree" for name, _ in rows) and not any("vulkan" in each for _, each in rows):
        console.print(
            "No Vulkan device was found. On Debian, `apt-get install mesa-vulkan-drivers libvulkan1` gives one without hardware.",
            highlight=False,
        )
    return healthy


def _print_cache(console: Console) -> bool:
    cache = default_cache()
    if cache is None:
        console.print("compilation cache: off")
        return True
    refusal = cache.refusal()
    if refusal is not None:
        console.print(
            f"compilation cache: [red]{escape(f'{cache.directory} is not used: {refusal}')}[/red]"
        )
        return False
    console.print(f"compilation cache: {cache.directory}, {cache.size():,} bytes")
    return True


def _print_verification(console: Console) -> None:
    """Print which backends are verified, and the verified programs in the cache.

    Repaired programs do not count as a problem.
    """
    compiling = sorted(set(registry.active().backends()) - {"numpy"})
    modes = ", ".join(f"{name} {guard.mode(name)}" for name in compiling)
    console.print(f"verification: {modes or 'only NumPy is installed, which it compares with'}")
    known = list(guard.all_stored())
    if not known:
        return
    states = Counter(each.state for each in known)
    console.print(
        "programs in the cache: " + ", ".join(f"{count} {state}" for state, count in states.items())
    )
    told = [each for each in known if each.state != "verified"]
    for each in told[:_MOST_TOLD]:
        place = f" {each.folder}" if each.folder else ""
        console.print(escape(f"  {each}{place}"), highlight=False)
    if len(told) > _MOST_TOLD:
        console.print(f"  and {len(told) - _MOST_TOLD} more")
