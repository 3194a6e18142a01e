"""The kernels that IREE's compiler forms (dispatches), read from the text of a program after its phase ``flow``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from plugjax.visualize.compiled_text import Kernel

_EXECUTABLE = re.compile(r"^  flow\.executable private @([\w.$-]+)")
_EXPORT = re.compile(r"^\s+flow\.executable\.export public @([\w.$-]+)")
_DISPATCH = re.compile(r"\bflow\.dispatch @[\w.$-]+::@([\w.$-]+)")
_OPERATION = re.compile(r"^\s+(?:%[\w:, %#]+ = )?([a-z_0-9]+(?:\.[a-z_0-9]+)+)")
_PLACE = re.compile(r"\bloc\((.*)\)$")
_ALIAS = re.compile(r"^#loc(\d+) = loc\((.*)\)$", re.MULTILINE)
_NAMED = re.compile(r'^"((?:[^"\\]|\\.)*)"\((.*)\)$')
_FILE = re.compile(r'^"((?:[^"\\]|\\.)*)":(\d+):\d+')
_WRITTEN = re.compile(r"<(?:writeonly|readwrite):(tensor<[^<>]*(?:<[^<>]*>)?[^<>]*>)>")
# Operations that compute nothing: they move operands in and results out, or hold the program together.
_SILENT = (
    "func.", "flow.", "builtin.", "iree_tensor_ext.", "arith.constant", "tensor.empty", "linalg.fill", "linalg.yield", "linalg.index",
    "affine.", "scf.yield", "util.", "tensor.extract", "arith.index_cast",
)  # fmt: skip


def kernels_of_flow(text: str) -> list[Kernel]:
    """The dispatches of a program, in the order of their numbers, with the equations that their operations come from."""
    places = dict(_ALIAS.findall(text))
    uses = Counter(_DISPATCH.findall(text))
    return [_kernel(name, lines, places, uses[name]) for name, lines in _executables(text)]


def _executables(text: str) -> Iterator[tuple[str, list[str]]]:
    """The exported name and the lines of each executable."""
    inside: list[str] | None = None
    name = ""
    for line in text.splitlines():
        if _EXECUTABLE.match(line):
            inside = []
        elif inside is not None and line.startswith("  }"):
            yield name, inside
            inside = None
        elif inside is not None:
            if export := _EXPORT.match(line):
                name = export[1]
            inside.append(line)


def _kernel(name: str, lines: list[str], places: Mapping[str, str], uses: int) -> Kernel:
    labels, sources = [], []
    for line in lines:
        operation, place = _OPERATION.match(line), _PLACE.search(line)
        # An operation with a region has its place behind the region.
        if operation is None or place is None or operation[1].startswith(_SILENT):
            continue
        label, source = _resolved(place[1], places)
        labels.append(label or operation[1])
        sources.append(source)
    written = [kind for line in lines if " func.func " in line for kind in _WRITTEN.findall(line)]
    # An equation whose operations are apart in the text is one equation.
    equations = list(dict.fromkeys(labels))
    kind = "fused" if len(equations) > 1 else "kernel"
    detail = f"dispatched at {uses} places" if uses > 1 else ""
    unique = [source for source in dict.fromkeys(sources) if source]
    return Kernel(name, kind, ", ".join(written), "", equations or [name], unique, detail)


def _resolved(place: str, places: Mapping[str, str]) -> tuple[str, str]:
    """The equation and the user's line that a place stands for; empty if it does not say them."""
    place = places.get(place.removeprefix("#loc"), place) if place.startswith("#loc") else place
    if place.startswith("fused"):
        inner = place[place.find("[") + 1 : place.rfind("]")].split(", ")
        return next((found for part in inner if (found := _resolved(part, places))[0]), ("", ""))
    if named := _NAMED.match(place):
        return named[1].rsplit("/", 1)[-1], _resolved(named[2], places)[1]
    if file := _FILE.match(place):
        return "", f"{file[1]}:{file[2]}"
    return "", ""


__all__ = ["kernels_of_flow"]
