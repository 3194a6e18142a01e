"""What compiled programs run, read from their text: XLA's fusions with the equations in them, and NumPy's kernel calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass
class Kernel:
    """What runs as one step of a compiled program.

    Attributes:
        name: as the text has it.
        kind: ``fused``, if it is made of several equations; ``kernel``.
        makes: the type of the result, if the text says it.
        within: the computation that calls it; empty for the program itself.
        equations: the equations in it, in order: primitives, or the operations if the text does not say which.
        lines: the user's lines that they come from.
        detail: what else is known.
    """

    name: str
    kind: str
    makes: str = ""
    within: str = ""
    equations: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    detail: str = ""


@dataclass(frozen=True)
class _Instruction:
    name: str
    makes: str
    operation: str
    rest: str


_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = (\(.*?\)|\S+) ([a-z][\w\-]*)\((.*)$")
_CALLED = re.compile(r"\b(?:calls|to_apply|body|condition|\w+_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"\bbranch_computations=\{([^}]*)\}")
_OPERATION_NAME = re.compile(r'\bop_name="([^"]*)"')
_FRAME = re.compile(r"\bstack_frame_id=(\d+)")
_SOURCE = re.compile(r'\bsource_file="([^"]*)" source_line=(\d+)')
# Instructions that run nothing.
_SILENT = frozenset({"parameter", "constant", "get-tuple-element", "tuple", "bitcast", "after-all"})
# Instructions that run other computations step by step.
_CALLS = frozenset({"while", "call", "conditional"})


def kernels_of_hlo(text: str) -> list[Kernel]:
    """The kernels of a compiled module of XLA: its fusions, and the operations that are in none."""
    computations, entry = _computations(text)
    lines = _lines_of_frames(text)
    found: list[Kernel] = []
    waiting, seen = [entry], {entry}
    while waiting:
        current = waiting.pop(0)
        for each in computations.get(current, ()):
            if each.operation in _CALLS:
                called = [n for n in dict.fromkeys(_called(each.rest)) if n not in seen]
                seen.update(called)
                waiting += called
            elif each.operation not in _SILENT:
                within = "" if current == entry else current
                found.append(_kernel(each, within, computations, lines))
    return found


def _computations(text: str) -> tuple[dict[str, list[_Instruction]], str]:
    """Instructions by computation, and the name of the first one that runs."""
    found: dict[str, list[_Instruction]] = {}
    entry, current = "", ""
    for line in text.splitlines():
        head = _COMPUTATION.match(line)
        if head:
            current = head[2]
            found[current] = []
            entry = current if head[1] else entry
        elif current and (instruction := _INSTRUCTION.match(line)):
            found[current].append(_Instruction(*instruction.groups()))
    return found, entry


def _called(rest: str) -> list[str]:
    branches = _BRANCHES.search(rest)
    several = [n.strip().lstrip("%") for n in branches[1].split(",")] if branches else []
    return [*_CALLED.findall(rest), *several]


def _kernel(
    instruction: _Instruction,
    within: str,
    computations: Mapping[str, list[_Instruction]],
    lines: Mapping[str, str],
) -> Kernel:
    inside = [instruction]
    if instruction.operation == "fusion":
        called = _called(instruction.rest)
        inside = [i for name in called for i in computations.get(name, ())]
        inside = [i for i in inside if i.operation not in _SILENT] or [instruction]
    labels = [_label(i) for i in inside]
    places = [place for i in inside if (place := _place(i, lines))]
    # An operation of XLA for each part of one equation.
    equations = [x for i, x in enumerate(labels) if i == 0 or x != labels[i - 1]]
    kind = "fused" if len(equations) > 1 else "kernel"
    makes = re.sub(r"\{[^}]*\}", "", instruction.makes)
    unique = list(dict.fromkeys(places))
    return Kernel(instruction.name, kind, makes, within, equations, unique, instruction.operation)


def _label(instruction: _Instruction) -> str:
    named = _OPERATION_NAME.search(instruction.rest)
    if named is None:
        return instruction.operation
    return named[1].rsplit("/", 1)[-1]


def _place(instruction: _Instruction, lines: Mapping[str, str]) -> str:
    direct = _SOURCE.search(instruction.rest)
    if direct:
        return f"{direct[1]}:{direct[2]}"
    frame = _FRAME.search(instruction.rest)
    return lines.get(frame[1], "") if frame else ""


def _lines_of_frames(text: str) -> dict[str, str]:
    """File and line by the number of a stack frame, from the tables before the computations."""
    files = dict(re.findall(r'^(\d+) "(.*)"$', _section(text, "FileNames"), re.MULTILINE))
    places = {
        number: f"{files.get(file, '?')}:{line}"
        for number, file, line in re.findall(
            r"^(\d+) \{file_name_id=(\d+) .*?\bline=(\d+)",
            _section(text, "FileLocations"),
            re.MULTILINE,
        )
    }
    frames = re.findall(
        r"^(\d+) \{file_location_id=(\d+)", _section(text, "StackFrames"), re.MULTILINE
    )
    return {number: places.get(place, "") for number, place in frames}


def _section(text: str, name: str) -> str:
    found = re.search(rf"^{name}\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


_CALL = re.compile(r"^\s+(?:(?P<targets>[\w, ]+?),? = )?(?P<name>\w+?)_\d+\((?P<operands>.*)\)$")


def kernels_of_python(text: str) -> list[Kernel]:
    """The kernel calls of a function that the NumPy backend wrote: one for each equation."""
    return [_call(found) for line in text.splitlines() if (found := _CALL.match(line))]


def _call(found: re.Match[str]) -> Kernel:
    reused = re.search(r"\bout=(\w+)", found["operands"])
    detail = f"into the memory of {reused[1]}" if reused else ""
    return Kernel(found["targets"] or "", "kernel", equations=[found["name"]], detail=detail)


def operations_of_stablehlo(text: str) -> Iterator[str]:
    """The operations of a StableHLO module, in order."""
    for found in re.finditer(r"\bstablehlo\.([a-z_]+)", text):
        if found[1] not in ("return", "constant"):
            yield found[1]


__all__ = ["Kernel", "kernels_of_hlo", "kernels_of_python", "operations_of_stablehlo"]
