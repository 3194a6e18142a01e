"""``plugjax demo --plot``: digits, what the classifier says of them, and the loss, as an SVG picture.

A browser shows it. SVG is text, so that the demonstration needs no library for pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_PIXEL, _COLUMNS, _ROWS, _CELL = 8, 10, 3, 84
_WIDTH, _MARGIN, _CHART = _COLUMNS * _CELL, 40, 200


def picture(
    images: np.ndarray[Any, Any],
    labels: np.ndarray[Any, Any],
    predicted: np.ndarray[Any, Any],
    losses: Mapping[str, Sequence[float]],
) -> str:
    """The text of an SVG file.

    The digits that are taken for others come first; these are red.

    Args:
        images: ``[n, 64]`` in [0, 1].
        labels: what they are.
        predicted: what the classifier says.
        losses: by the name of a backend, the loss before training and after each epoch.

    Example:
        >>> import numpy as np
        >>> from plugjax.cli.demo_plot import picture
        >>> picture(np.ones((1, 64)), np.array([3]), np.array([5]), {"numpy": [2.0, 1.0]})[:4]
        '<svg'
    """
    wrong_first = np.argsort(predicted == labels, kind="stable")[: _COLUMNS * _ROWS]
    parts = [
        _digit(images[i], int(labels[i]), int(predicted[i]), place)
        for place, i in enumerate(wrong_first)
    ]
    top = _ROWS * (_CELL + 16) + _MARGIN
    parts += _chart(losses, top)
    height = top + _CHART + _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        + "".join(parts)
        + "</svg>\n"
    )


def _digit(image: np.ndarray[Any, Any], label: int, predicted: int, place: int) -> str:
    left, top = place % _COLUMNS * _CELL + 10, place // _COLUMNS * (_CELL + 16) + 10
    pixels = [
        f'<rect x="{left + column * _PIXEL}" y="{top + row * _PIXEL}" width="{_PIXEL}" height="{_PIXEL}" fill="rgb({g},{g},{g})"/>'
        for row in range(8)
        for column in range(8)
        if (g := round(255 * (1 - float(image[8 * row + column])))) < 255
    ]
    said = f"{predicted}" if predicted == label else f"{predicted}, is {label}"
    colour = "black" if predicted == label else "#c00000"
    return f'<g>{"".join(pixels)}<text x="{left}" y="{top + 80}" fill="{colour}">{said}</text></g>'


def _chart(losses: Mapping[str, Sequence[float]], top: int) -> list[str]:
    """Lines of the losses over a logarithmic axis."""
    points = {name: np.log10(np.maximum(values, 1e-9)) for name, values in losses.items()}
    low = float(np.floor(min(np.min(p) for p in points.values())))
    high = float(np.ceil(max(np.max(p) for p in points.values())))
    high = max(high, low + 1)
    right = _WIDTH - _MARGIN

    def y(value: float) -> float:
        return top + _CHART * (high - value) / (high - low)

    parts = [f'<text x="{_MARGIN}" y="{top - 8}">loss in nats, by epoch</text>']
    parts += [
        f'<path d="M{_MARGIN} {y(decade):.1f}H{right}" stroke="#ddd"/>'
        f'<text x="{_MARGIN - 4}" y="{y(decade) + 4:.1f}" text-anchor="end">1e{decade}</text>'
        for decade in range(int(low), int(high) + 1)
    ]
    for i, (name, values) in enumerate(points.items()):
        colour = _COLOURS[i % len(_COLOURS)]
        across = np.linspace(_MARGIN, right, len(values))
        line = " ".join(f"{a:.1f},{y(v):.1f}" for a, v in zip(across, values, strict=True))
        # Backends agree, so their lines lie on one another: the earlier ones are broader.
        parts.append(
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="{2 + 2 * (len(points) - 1 - i)}"/>'
            f'<text x="{right - 60}" y="{top + 14 + 16 * i}" fill="{colour}">{name}</text>'
        )
    return parts
