"""The graph of a program: a box for each equation, below those that it reads from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from plugjax.visualize.elements import (
    CHARACTER,
    LINE,
    curve,
    drawing,
    plain_text,
    rectangle,
    shortened,
)
from plugjax.visualize.outline import Program, Step, Value
from plugjax.visualize.palette import kind_class

_GAP, _PAD, _ROW_GAP = 14.0, 8.0, 26.0
# Characters of a line in a box, and boxes side by side.
_LONGEST, _WIDEST = 34, 10


@dataclass
class _Part:
    """Shapes with the size of the space that they take."""

    width: float
    height: float
    shapes: list[str]


@dataclass
class _Box:
    kind: str
    lines: list[str]
    hint: str
    reads: list[str]
    makes: list[str]
    inner: list[tuple[str, _Part]] = field(default_factory=list)
    rank: int = 0
    x: float = 0
    y: float = 0

    @property
    def head(self) -> float:
        return len(self.lines) * LINE + _PAD

    @property
    def width(self) -> float:
        own = max(map(len, self.lines), default=0) * CHARACTER + 2 * _PAD
        within = sum(part.width + _PAD for _, part in self.inner) + _PAD if self.inner else 0
        return max(own, within)

    @property
    def height(self) -> float:
        within = max((part.height for _, part in self.inner), default=0)
        return self.head + (within + LINE + _PAD if self.inner else 0)

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def graph(program: Program, limit: int, *, nested: bool, label: str) -> str:
    """The graph as a drawing.

    Args:
        program: what to draw.
        limit: number of equations, those of nested programs included; the others are counted in a box of their own.
        nested: whether nested programs are drawn within their equations.
        label: what it shows, for those who do not see it.
    """
    part = _Painter(limit, nested).program(program)
    return drawing(part.width + 2, part.height + 2, part.shapes, label)


class _Painter:
    def __init__(self, left: int, nested: bool) -> None:
        self._left = left
        self._nested = nested

    def program(self, program: Program) -> _Part:
        boxes = self._boxes(program)
        _set_ranks(boxes)
        width, height = _place(boxes)
        owners = {name: box for box in boxes for name in box.makes}
        lines = [
            curve((owners[name].middle, owners[name].y + owners[name].height), (box.middle, box.y))
            for box in boxes
            for name in dict.fromkeys(box.reads)
            if name in owners
        ]
        return _Part(width, height, [*lines, *(shape for box in boxes for shape in _shapes(box))])

    def _boxes(self, program: Program) -> list[_Box]:
        steps, omitted = [], program.omitted
        for step in program.steps:
            if self._left <= 0:
                omitted += 1
                continue
            self._left -= 1
            steps.append(self._step(step))
        read = {name for step in steps for name in step.reads} | {*program.outputs}
        outside = [("constant", v) for v in program.constants]
        outside += [("input", v) for v in program.inputs]
        # Of many arguments, those that something drawn here reads come first.
        outside.sort(key=lambda pair: pair[1].name not in read)
        kept = max(4 * len(steps) + 8, 0)
        boxes = [_value(kind, v) for kind, v in outside[:kept]] + steps
        if len(outside) > kept:
            boxes.append(_Box("other", [f"… {len(outside) - kept:,} more inputs"], "", [], []))
        if omitted:
            last = steps[-1].makes[:1] if steps else []
            boxes.append(_Box("other", [f"… {omitted:,} more equations"], "", last, []))
        shown = program.outputs[:kept]
        boxes += [_Box("output", [shortened(f"out {o}", _LONGEST)], o, [o], []) for o in shown]
        return boxes

    def _step(self, step: Step) -> _Box:
        makes = ", ".join(f"{v.name}:{v.kind}" for v in step.makes)
        lines = [shortened(step.label, _LONGEST), shortened(makes, _LONGEST)]
        hint = f"{step.text}\n{step.source}".strip()
        kind = "program" if step.programs else "equation"
        inner: list[tuple[str, _Part]] = []
        if step.programs and not self._nested:
            lines.append(f"{sum(p.size for _, p in step.programs):,} equations inside")
        elif step.programs:
            inner = [(key, self.program(p)) for key, p in step.programs]
        return _Box(kind, lines, hint, step.reads, [v.name for v in step.makes], inner)


def _value(kind: str, value: Value) -> _Box:
    text = f"{value.name}:{value.kind}"
    return _Box(kind, [shortened(text, _LONGEST)], f"{kind} {text}", [], [value.name])


def _set_ranks(boxes: Sequence[_Box]) -> None:
    """Each box below those it reads from; what is read only, right above its first reader."""
    rank: dict[str, int] = {}
    first_reader: dict[str, int] = {}
    for box in boxes:
        if box.kind not in ("input", "constant"):
            box.rank = 1 + max((rank[name] for name in box.reads if name in rank), default=0)
            rank.update(dict.fromkeys(box.makes, box.rank))
            for name in box.reads:
                first_reader[name] = min(first_reader.get(name, box.rank), box.rank)
    for box in boxes:
        if box.kind in ("input", "constant"):
            box.rank = first_reader.get(box.makes[0], 1) - 1


def _place(boxes: Sequence[_Box]) -> tuple[float, float]:
    """Give each box its place; the width and height of all."""
    rows: dict[tuple[int, int], list[_Box]] = {}
    count: dict[int, int] = {}
    for box in boxes:
        number = count[box.rank] = count.get(box.rank, -1) + 1
        rows.setdefault((box.rank, number // _WIDEST), []).append(box)
    width = max((_row_width(row) for row in rows.values()), default=0.0)
    placed: dict[str, _Box] = {}
    y = 1.0
    for _, row in sorted(rows.items(), key=lambda pair: pair[0]):
        row.sort(key=lambda box: _wanted(box, placed))
        x = 1 + (width - _row_width(row)) / 2
        for box in row:
            box.x, box.y = x, y
            x += box.width + _GAP
            placed.update(dict.fromkeys(box.makes, box))
        y += max(box.height for box in row) + _ROW_GAP
    return width, max(y - _ROW_GAP, 1.0)


def _row_width(row: Sequence[_Box]) -> float:
    return sum(box.width for box in row) + _GAP * (len(row) - 1)


def _wanted(box: _Box, placed: dict[str, _Box]) -> float:
    """Below the middle of what it reads; what reads nothing comes last."""
    above = [placed[name].middle for name in box.reads if name in placed]
    return sum(above) / len(above) if above else float("inf")


def _shapes(box: _Box) -> list[str]:
    css = kind_class(box.kind)
    shapes = [rectangle(box.x, box.y, box.width, box.height, css, box.hint, 5)]
    for i, line in enumerate(box.lines):
        style = "pj-strong" if i == 0 and box.kind in ("equation", "program") else ""
        style = style or ("pj-small" if i else "")
        at = box.y + LINE * (i + 1) - 1
        shapes.append(plain_text(box.middle, at, line, css=style, anchor="middle"))
    x = box.x + _PAD
    for key, part in box.inner:
        top = box.y + box.head + LINE
        shapes.append(plain_text(x, top - 5, key, css="pj-small"))
        moved = f'<g transform="translate({x:.1f} {top:.1f})">'
        shapes.append(f"{moved}{''.join(part.shapes)}</g>")
        x += part.width + _PAD
    return shapes


__all__ = ["graph"]
