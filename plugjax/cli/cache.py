"""``plugjax cache``: the persistent compilation cache."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from plugjax.cli import filling
from plugjax.cli.signatures import parse_shapes
from plugjax.cli.terminal import console, working
from plugjax.extend.backend import device as device_of
from plugjax.extend.execution import CompilationCache, default_cache

app = typer.Typer(help="The persistent compilation cache.", no_args_is_help=True)


def _usable_cache() -> CompilationCache | None:
    cache = default_cache()
    if cache is None:
        console.print("The cache is off (PLUGJAX_CACHE_DIR).")
        return None
    refusal = cache.refusal()
    if refusal is not None:
        raise ValueError(f"the cache folder {cache.directory} is not used: {refusal}")
    return cache


@app.command("list")
def list_entries() -> None:
    """List cached programs, least recently used first."""
    cache = _usable_cache()
    if cache is None:
        return
    table = Table("key", "bytes", "last used")
    for item in cache.entries():
        used = datetime.fromtimestamp(item.last_used).isoformat(sep=" ", timespec="seconds")
        table.add_row(item.key[:16], f"{item.bytes:,}", used)
    console.print(table)


@app.command()
def size() -> None:
    """Print the number of cached programs, their size, and where they are."""
    cache = _usable_cache()
    if cache is not None:
        console.print(
            f"{len(cache.entries())} entries, {cache.size():,} bytes in {cache.directory}"
        )


@app.command()
def clear() -> None:
    """Delete all cached programs, and nothing else."""
    cache = _usable_cache()
    if cache is not None:
        with working(f"clearing {cache.directory}"):
            cache.clear()
        console.print(f"cleared {cache.directory}")


@app.command()
def fill(
    device: Annotated[str, typer.Option(help="What compiles, as `iree:vulkan:0`.")],
    arrays: Annotated[list[str], typer.Option(help="Types of arrays, as `f32[32,128],f32[128]`.")],
    operations: Annotated[
        list[str] | None,
        typer.Argument(help="As `add` or `outer`; all on the fast path if left out."),
    ] = None,
) -> None:
    """Compile eager operations on arrays of these types ahead: those of one type, with each other and with scalars."""
    cache = _usable_cache()
    if cache is None:
        return
    before = len(cache.entries())
    types = [each for text in arrays for each in parse_shapes(text)]
    with working(f"compiling for {device}"):
        found = filling.fill(device_of(device), types, operations or [])
    for text in found.refused:
        console.print(f"refused: {escape(text)}")
    console.print(
        f"{found.ready} operations are ready on {device}; {len(cache.entries()) - before} entries are new in {cache.directory}"
    )
