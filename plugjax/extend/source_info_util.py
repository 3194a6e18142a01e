"""Where in the user's program an operation is written, by JAX's names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from plugjax.core.source_info import Source, open_scopes, register_internal, user_source

SourceInfo = Source


def current() -> Source | None:
    """The user's line that is running; ``None`` if no frame is the user's."""
    return user_source(2)


def current_name_stack() -> tuple[str, ...]:
    """Names of the scopes that are open, outermost first."""
    return open_scopes.names


@contextmanager
def extend_name_stack(name: str) -> Iterator[tuple[str, ...]]:
    """Within the block, operations carry one more name."""
    outer = open_scopes.names
    open_scopes.names = (*outer, name)
    try:
        yield open_scopes.names
    finally:
        open_scopes.names = outer


def register_exclusion(path: str) -> None:
    """Count files below a folder as no user's code."""
    register_internal(path)


def summarize(source_info: Source | None) -> str:
    """File, line and function."""
    return str(source_info) if source_info is not None else "unknown"


__all__ = [
    "SourceInfo",
    "current",
    "current_name_stack",
    "extend_name_stack",
    "register_exclusion",
    "summarize",
]
