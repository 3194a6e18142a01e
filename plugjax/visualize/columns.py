"""A chart of bytes: a column for each step of a program or a run, with the highest one marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plugjax.visualize.elements import (
    CHARACTER,
    bytes_words,
    drawing,
    path,
    plain_text,
    rectangle,
    shortened,
)
from plugjax.visualize.palette import kind_class

_WIDTH, _HEIGHT, _LEFT, _TOP = 720.0, 220.0, 76.0, 14.0
# Columns that there is space for; of steps that share one, the highest is drawn.
_MOST = 320


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        size: bytes that are held.
        more: bytes on top of them that are held while it runs.
        label: written below, where there is space.
        hint: what appears where one points at it.
    """

    size: int
    more: int
    label: str
    hint: str

    @property
    def height(self) -> int:
        """All bytes."""
        return self.size + self.more


def chart(steps: Sequence[Step], level: tuple[int, str], about: str, title: str) -> str:
    """The drawing.

    Args:
        steps: in their order, at least one.
        level: bytes at which a line is drawn, and its word.
        about: words below the chart.
        title: for those who do not see it.
    """
    highest = max(1, *(step.height for step in steps))
    count = min(len(steps), _MOST)
    width = (_WIDTH - _LEFT - 10) / count
    shapes: list[str] = []
    for column in range(count):
        first, end = (len(steps) * n // count for n in (column, column + 1))
        step = max(steps[first:end], key=lambda step: step.height)
        shapes += _column(step, _LEFT + column * width, width, highest)
    shapes += _scale(highest, *level)
    shapes.append(plain_text(_LEFT, _TOP + _HEIGHT + 30, about, css="pj-small"))
    return drawing(_WIDTH, _TOP + _HEIGHT + 38, shapes, title)


def _column(step: Step, x: float, width: float, highest: int) -> Iterator[str]:
    held, whole = (_HEIGHT * size / highest for size in (step.size, step.height))
    kind = "peak" if step.height == highest and not step.more else "memory"
    bottom = _TOP + _HEIGHT
    yield rectangle(x, bottom - held, width, held, kind_class(kind), step.hint, 0)
    if step.more:
        css = kind_class("peak")
        yield rectangle(x, bottom - whole, width, whole - held, css, step.hint, 0)
    if width > 60:
        text = shortened(step.label, int(width / CHARACTER))
        yield plain_text(x + width / 2, bottom + 14, text, css="pj-small", anchor="middle")


def _scale(highest: int, level: int, word: str) -> Iterator[str]:
    for size in (highest, highest // 2, 0):
        y = _TOP + _HEIGHT * (1 - size / highest)
        yield plain_text(_LEFT - 6, y + 4, bytes_words(size), css="pj-small", anchor="end")
    y = _TOP + _HEIGHT * (1 - level / highest)
    yield path([(_LEFT, y), (_WIDTH - 10, y)], "pj-line")
    yield plain_text(_WIDTH - 12, y - 3, word, css="pj-small", anchor="end")


__all__ = ["Step", "chart"]
