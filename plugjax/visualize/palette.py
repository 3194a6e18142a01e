"""The colours of all pictures, by name, and the styles that use them.

Text and lines have the colour of the text around the picture (``currentColor``), and fills are translucent: a picture is readable on
light and on dark paper. A file that stands by itself follows what the reader prefers.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "blue": "#3b82f6",
        "green": "#22a565",
        "orange": "#f08c2e",
        "purple": "#9b6cf0",
        "red": "#e5484d",
        "teal": "#14a3a8",
        "yellow": "#d4a514",
        "pink": "#e0559b",
        "grey": "#8b929c",
    }
)
# What parts of programs and events of traces are, by colour.
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "input": "green",
        "constant": "teal",
        "equation": "blue",
        "program": "purple",
        "output": "orange",
        "tracing": "yellow",
        "lowering": "pink",
        "compiling": "red",
        "execution": "blue",
        "transfer": "green",
        "annotation": "purple",
        "fused": "orange",
        "kernel": "blue",
        "memory": "blue",
        "peak": "red",
        "other": "grey",
    }
)
# Neighbours differ; devices and parts take them in turn.
CYCLE = ("blue", "green", "orange", "purple", "teal", "red", "yellow", "pink")

_DARK_TEXT = "#e6e6e6"
_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
STYLE = (
    f".pj{{font:12px {_FONT};color:inherit}}"
    f".pj text{{font:12px {_FONT};fill:currentColor;stroke:none}}"
    ".pj .pj-small{font-size:10px;opacity:.75}"
    ".pj .pj-strong{font-weight:bold}"
    ".pj .pj-line{stroke:currentColor;stroke-opacity:.35;fill:none}"
    f".pj .pj-curve{{stroke:{COLOURS['blue']};stroke-width:1.5;fill:none}}"
    ".pj .pj-frame{stroke:currentColor;stroke-opacity:.35;fill:none}"
    + "".join(
        f".pj .pj-{name}{{fill:{colour};fill-opacity:.25;stroke:{colour};stroke-opacity:.9}}"
        for name, colour in COLOURS.items()
    )
)
# `:root` is the picture itself only where it is a file of its own.
ALONE_STYLE = f"@media (prefers-color-scheme:dark){{svg.pj:root{{color:{_DARK_TEXT}}}}}"
HTML_STYLE = (
    ".pj details{margin:2px 0 2px 14px}.pj summary{cursor:pointer;margin-left:-14px}"
    ".pj svg{max-width:100%;height:auto}"
    ".pj pre{margin:2px 0;white-space:pre-wrap;background:none;color:inherit;font:inherit}"
    ".pj table{border-collapse:collapse;margin:4px 0;color:inherit;background:none;font:inherit}"
    ".pj td,.pj th{text-align:left;padding:1px 10px 1px 0;vertical-align:top;"
    "border-bottom:1px solid rgba(128,128,128,.3)}"
    ".pj .pj-title{font-weight:bold;margin-bottom:4px}.pj .pj-note{opacity:.75}"
)


def kind_class(kind: str) -> str:
    """The class of shapes that stand for a kind of thing; ``other`` for what has no colour of its own."""
    return f"pj-{KINDS.get(kind, KINDS['other'])}"


def cycle_class(number: int) -> str:
    """The class of the shape with this number, of many alike."""
    return f"pj-{CYCLE[number % len(CYCLE)]}"


__all__ = ["ALONE_STYLE", "COLOURS", "CYCLE", "HTML_STYLE", "KINDS", "STYLE", "cycle_class", "kind_class"]  # fmt: skip
