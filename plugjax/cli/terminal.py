"""Where commands print: results on standard output; progress on standard error, in terminals alone."""

from __future__ import annotations

from contextlib import AbstractContextManager

from rich.console import Console

from plugjax.debug import progress

console = Console()
messages = Console(stderr=True)


def working(on: str) -> AbstractContextManager[object]:
    """Show that a command works, and on what, until the block ends. Without a terminal nothing is shown.

    Args:
        on: what is being done, as ``compiling predict``.
    """
    return progress.working(on)
