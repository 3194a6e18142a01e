"""Marks: what a program tells the compiler about the equations that are written within a block.

They travel with the scopes that are open, and so with the source of each equation: what is derived from an equation has its marks. A
backend that has no use for them ignores them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from plugjax.core.config import config
from plugjax.core.source_info import Source, open_scopes

Pairs = tuple[tuple[str, str], ...]


class Marks(NamedTuple):
    """Names and values.

    Attributes:
        results: of the operations that give an equation's results.
        operations: of all operations that an equation becomes.
    """

    results: Pairs = ()
    operations: Pairs = ()


NO_MARKS = Marks()


class MarkedScopes(tuple[str, ...]):
    """Names of open scopes, with marks.

    Attributes:
        marks: those of the equations written within them.
    """

    marks: Marks = NO_MARKS


def _marked(names: tuple[str, ...], marks: Marks) -> tuple[str, ...]:
    scopes = MarkedScopes(names)
    scopes.marks = marks
    return scopes


def with_scope(outer: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The scopes with one more within them."""
    names = (*outer, name)
    return _marked(names, outer.marks) if isinstance(outer, MarkedScopes) else names


def marks_of(source: Source | None) -> Marks:
    """The marks of an equation, by its source."""
    if source is None or type(source.scopes) is tuple:
        return NO_MARKS
    return getattr(source.scopes, "marks", NO_MARKS)


@contextmanager
def marking(change: Callable[[Marks], Marks]) -> Iterator[None]:
    """Within the block, equations have other marks; functions are traced anew for them.

    Args:
        change: from the marks outside to those within.
    """
    outer = open_scopes.names
    found = change(outer.marks if isinstance(outer, MarkedScopes) else NO_MARKS)
    open_scopes.names = _marked(tuple(outer), found)
    try:
        with config.override("equation_marks", found):
            yield
    finally:
        open_scopes.names = outer
