"""Commands of ``plugjax``; each calls a module of the same name."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import plugjax
from plugjax import config
from plugjax.cli import (
    bug as bug_module,
    check as check_module,
    demo as demo_module,
    demo_devices,
    doctor as doctor_module,
    doctor_workarounds,
    export as export_module,
    launch as launch_module,
    parity as parity_module,
    programs,
)
from plugjax.extend import registry
from plugjax.extend.backend import get_backend
from plugjax.extend.errors import UnknownBackendError
from plugjax.extend.execution import CompilationCache, default_cache

app = typer.Typer(
    help="plugjax: a JAX-compatible array framework whose every part is a plugin.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
cache_app = typer.Typer(help="The persistent compilation cache.", no_args_is_help=True)
app.add_typer(cache_app, name="cache")
console = Console()


def _print_version(wanted: bool) -> None:
    if wanted:
        console.print(plugjax.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Options of the command itself; its help is that of ``app``."""


@app.command()
def demo(
    backend: Annotated[str | None, typer.Option(help="Train on this backend only.")] = None,
    device: Annotated[
        str | None, typer.Option(help="Train on this device only, as `iree:vulkan:0`.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training images.")] = 30,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for the exported model; a temporary one if left out."),
    ] = None,
    devices: Annotated[
        int | None, typer.Option(min=1, help="Train on a mesh of so many devices, in each process.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Train in so many processes, which share the images.")
    ] = None,
) -> None:
    """Train a classifier of handwritten digits on every backend, export it, and run it without Python.

    With --devices or --processes: train it on a mesh instead, and draw the mesh.
    """
    if devices is None and processes is None:
        demo_module.run(console, device or backend, epochs, output)
        return
    if device is not None:
        raise typer.BadParameter(
            "a mesh has several devices: leave out --device, or give --backend."
        )
    if output is not None:
        raise typer.BadParameter("what is trained on a mesh is not exported: leave out --output.")
    try:
        demo_devices.check((devices or 1) * (processes or 1))
        if processes is None:
            config.update("jax_num_cpu_devices", devices)
            mesh = demo_devices.mesh_of(backend, devices)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if processes is None:
        demo_devices.run(console, mesh, epochs)
        return
    program = ["-m", demo_devices.__name__, str(epochs)]
    status = launch_module.launch(console, program, processes, devices, backend or "xla")
    raise typer.Exit(status)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def launch(
    context: typer.Context,
    program: Annotated[str, typer.Argument(help="The program, or -m and a module after --.")],
    processes: Annotated[int, typer.Option("-n", min=1, help="How many processes.")] = 2,
    devices: Annotated[
        int | None, typer.Option(min=1, help="Devices that each makes of the processor.")
    ] = None,
    backend: Annotated[str, typer.Option(help="Their backend.")] = "xla",
) -> None:
    """Run a program in several processes on this machine; it calls plugjax.distributed.initialize()."""
    status = launch_module.launch(console, [program, *context.args], processes, devices, backend)
    raise typer.Exit(status)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    context: typer.Context,
    program: Annotated[str, typer.Argument(help="The program, or -m and a module after --.")],
    as_jax: Annotated[
        bool, typer.Option("--as-jax", help="`import jax` is plugjax, in it and its libraries.")
    ] = False,
    backend: Annotated[str | None, typer.Option(help="Its backend.")] = None,
) -> None:
    """Run a Python program; options of this command come before it."""
    if backend is not None:
        config.update("backend", backend)
    if as_jax:
        programs.alias().install()
    programs.run([program, *context.args])


@app.command()
def devices() -> None:
    """List the devices of all installed backends."""
    table = Table("device", "backend", "description")
    for name in sorted(registry.active().backends()):
        try:
            for device in get_backend(name).devices():
                table.add_row(str(device), name, device.description)
        except UnknownBackendError as error:
            table.add_row("-", name, str(error))
    console.print(table)


@app.command()
def plugins() -> None:
    """List plugins: where they come from, what they provide, and their errors."""
    table = Table("plugin", "distribution", "provides", "state")
    for plugin in registry.active().plugins:
        state = "loaded"
        if plugin.blocked:
            state = "blocked by the environment"
        elif plugin.error is not None:
            state = escape(f"skipped: {type(plugin.error).__name__}: {plugin.error}")
        elif plugin.faults:
            state = f"loaded, failed in {', '.join(plugin.faults)}"
        source = f"{plugin.distribution} {plugin.version}".strip()
        table.add_row(plugin.name, source, ", ".join(plugin.provides), state)
    console.print(table)


@app.command()
def doctor(
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
    elif not doctor_module.run(console):
        raise typer.Exit(1)


@app.command()
def bug() -> None:
    """Print versions, devices, plugins and options as text, to paste into a report of a fault."""
    typer.echo(bug_module.text())


@app.command()
def parity(
    missing: Annotated[bool, typer.Option(help="List the missing names too.")] = True,
) -> None:
    """Count the public names of JAX that exist here, per namespace, and list those that do not."""
    parity_module.run(console, missing)


@app.command()
def check(
    target: Annotated[str, typer.Argument(help="FILE.py or package.module")],
    entry: Annotated[list[str], typer.Option(help="FUNCTION=f32[1,64],i32[8] ...")],
    backend: Annotated[str, typer.Option(help="Backend to check for.")] = "iree",
) -> None:
    """Report, before anything is compiled, which primitives of a program a backend would run on the host."""
    if not check_module.run(console, target, entry, backend):
        raise typer.Exit(1)


@app.command()
def export(
    target: Annotated[str, typer.Argument(help="FILE.py or package.module")],
    entry: Annotated[
        list[str],
        typer.Option(help="NAME=FUNCTION:f32[1,64],i32[8] (or FUNCTION:...), repeatable."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .vmfb file to write.")],
    parameters: Annotated[
        str | None, typer.Option(help="Name of a pytree in TARGET that every function takes first.")
    ] = None,
    irpa: Annotated[
        Path | None, typer.Option(help="Write the parameters to this file instead of the module.")
    ] = None,
    compile_for: Annotated[
        str, typer.Option("--compile-for", help="IREE target, such as host or generic.")
    ] = "host",
) -> None:
    """Compile functions to one IREE module with named entry points."""
    export_module.run(console, target, entry, output, parameters, irpa, compile_for)


def _usable_cache() -> CompilationCache | None:
    cache = default_cache()
    if cache is None:
        console.print("The cache is off (PLUGJAX_CACHE_DIR).")
        return None
    refusal = cache.refusal()
    if refusal is not None:
        raise ValueError(f"the cache folder {cache.directory} is not used: {refusal}")
    return cache


@cache_app.command("list")
def cache_list() -> None:
    """List cached programs, least recently used first."""
    cache = _usable_cache()
    if cache is None:
        return
    table = Table("key", "bytes", "last used")
    for item in cache.entries():
        used = datetime.fromtimestamp(item.last_used).isoformat(sep=" ", timespec="seconds")
        table.add_row(item.key[:16], f"{item.bytes:,}", used)
    console.print(table)


@cache_app.command("size")
def cache_size() -> None:
    """Print the number of cached programs, their size, and where they are."""
    cache = _usable_cache()
    if cache is not None:
        console.print(
            f"{len(cache.entries())} entries, {cache.size():,} bytes in {cache.directory}"
        )


@cache_app.command("clear")
def cache_clear() -> None:
    """Delete all cached programs, and nothing else."""
    cache = _usable_cache()
    if cache is not None:
        cache.clear()
        console.print(f"cleared {cache.directory}")


@app.command()
def version() -> None:
    """Print the version."""
    console.print(plugjax.__version__)


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except Exception as error:
        if os.environ.get("PLUGJAX_TRACEBACK", "") not in ("", "0"):
            raise
        Console(stderr=True).print(
            "[red]plugjax:[/red] " + escape(_in_one_line(error)), highlight=False, soft_wrap=True
        )
        sys.exit(2)


def _in_one_line(error: Exception) -> str:
    """The message of an error, with the name of the class unless the class is one whose messages need none."""
    said = " ".join(line.strip() for line in str(error).splitlines()[:3] if line.strip())
    plain = (RuntimeError, ValueError, TypeError, OSError)
    if said and isinstance(error, plain):
        return said
    advice = " (PLUGJAX_TRACEBACK=1 shows where)"
    return f"{type(error).__name__}: {said}{advice}"
