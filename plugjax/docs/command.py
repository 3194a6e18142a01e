"""``plugjax docs``: build the site; a command that comes in by an entry point, as those of plugins do."""

from __future__ import annotations

import http.server
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from plugjax.cli.terminal import console, messages, working


def docs(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder.")] = Path("build/docs"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete the folder first.")] = False,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="Run the blocks of the pages.")
    ] = True,
    serve: Annotated[
        int | None, typer.Option(metavar="PORT", help="Then serve the site on this port.")
    ] = None,
) -> None:
    """Build the site of a checkout: pages are run, reference pages are written. No network is needed."""
    try:
        from plugjax.docs import builder  # noqa: PLC0415  # so that --help works without Sphinx
    except ModuleNotFoundError as error:
        raise ValueError(f"docs: {error.name} is missing: pip install 'plugjax[docs]'") from error
    try:
        with working("building the site"):
            site = builder.build(output.resolve(), fresh, run)
    except builder.SiteError as error:
        # All lines: one for each broken link.
        messages.print(str(error), markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(1) from None
    console.print(f"{site / 'index.html'}", soft_wrap=True, highlight=False)
    if serve is not None:
        _serve(site, serve)


def _serve(site: Path, port: int) -> None:
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        console.print(f"http://127.0.0.1:{server.server_port}")
        server.serve_forever()
