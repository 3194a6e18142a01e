"""Names of JAX that a program looked up and that are not there, with who asked and where."""

from __future__ import annotations

import importlib.metadata
import opcode
import sys
from dataclasses import dataclass
from types import FrameType

_REPORT = "If JAX 0.10.2 has it, report it as an issue of plugjax with the output of plugjax_as_jax.report()."
_IMPORT_FROM = opcode.opmap["IMPORT_FROM"]
# Frames of these are between the program and the alias.
_BETWEEN = ("importlib", "plugjax_as_jax", "plugjax")


@dataclass(frozen=True)
class Missing:
    """A name that was looked up in vain.

    Attributes:
        name: in full, as ``jax.lax.no_such_function``.
        library: the package that asked; ``__main__`` for the program itself.
        file: where.
        line: where in the file.
    """

    name: str
    library: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.name}, looked up by {self.library} ({self.file}:{self.line})"


found: dict[Missing, int] = {}


def name(module: str, attribute: str, reason: AttributeError | None) -> Exception:
    """Record that ``module`` lacks a name; the error to raise.

    It is an ``ImportError`` where ``from module import name`` asks: Python would drop the text of an ``AttributeError`` there.
    """
    frame = _asking()
    record = _record(f"{module}.{attribute}", frame)
    said = str(reason) if reason is not None and "has no attribute" not in str(reason) else ""
    text = _text(f"module '{module}' has no attribute '{attribute}'", record, said)
    caller = sys._getframe(2)
    if frame is not None and caller is frame and _imports_name(frame):
        text = _text(f"cannot import name '{attribute}' from '{module}'", record, said)
        return ImportError(text, name=module)
    return AttributeError(text)


def module(full: str) -> ModuleNotFoundError:
    """Record that there is no such module; the error to raise."""
    record = _record(full, _asking())
    return ModuleNotFoundError(_text(f"No module named '{full}'", record, ""), name=full)


def _text(what: str, record: Missing, said: str) -> str:
    asked = f"{_with_version(record.library)} asks for it ({record.file}:{record.line})"
    return f"{what}; {asked}. Here jax is plugjax, which lacks it. {said}{' ' if said else ''}{_REPORT}"


def _record(full: str, frame: FrameType | None) -> Missing:
    library = str(frame.f_globals.get("__name__", "")).partition(".")[0] if frame else ""
    file, line = (frame.f_code.co_filename, frame.f_lineno) if frame else ("", 0)
    record = Missing(full, library or "a program", file, line)
    found[record] = found.get(record, 0) + 1
    return record


def _asking() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in _BETWEEN and "importlib" not in frame.f_code.co_filename:
            return frame
        frame = frame.f_back
    return None


def _imports_name(frame: FrameType) -> bool:
    """Whether the frame is at an instruction of ``from module import name``."""
    return frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM


def _with_version(library: str) -> str:
    try:
        return f"{library} {importlib.metadata.version(library)}"
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return library
