"""The user's line: where in their program an equation was written.

Walking the stack costs a few dict look-ups per frame; files and lines are resolved when they are read.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Packages whose frames are not the user's: plugjax, and what it calls back through.
_internal_roots = [_ROOT]
_internal: dict[CodeType, bool] = {}


def register_internal(root: str) -> None:
    """Count files below ``root`` as framework frames: backends call this for their own packages."""
    _internal_roots.append(os.path.abspath(root) + os.sep)
    _internal.clear()


def is_internal(code: CodeType) -> bool:
    """Whether a code object belongs to the framework."""
    known = _internal.get(code)
    if known is None:
        name = code.co_filename
        known = name.startswith(("<plugjax", "<frozen"))
        if not known:
            known = any(name.startswith(root) for root in _internal_roots)
            known = (
                known or f"{os.sep}optree{os.sep}" in name or name.endswith(f"{os.sep}functools.py")
            )
        _internal[code] = known
    return known


class _OpenScopes(threading.local):
    """Names of the scopes that a thread has entered, outermost first."""

    names: tuple[str, ...] = ()


open_scopes = _OpenScopes()


class Source:
    """A place in the user's program: a code object and an instruction.

    Attributes:
        within: transformations around it, if noted.
        scopes: names that the user gave to what is around it, outermost first.
    """

    __slots__ = ("code", "instruction", "scopes", "within")

    def __init__(
        self,
        code: CodeType,
        instruction: int,
        within: tuple[Any, ...] = (),
        scopes: tuple[str, ...] = (),
    ) -> None:
        self.code = code
        self.instruction = instruction
        self.within = within
        self.scopes = scopes

    @property
    def file(self) -> str:
        """Path of the source file."""
        return self.code.co_filename

    @property
    def line(self) -> int:
        """Line number, from 1."""
        index = self.instruction // 2
        for number, (start, _, _, _) in enumerate(self.code.co_positions()):
            if number == index:
                return start or self.code.co_firstlineno
        return self.code.co_firstlineno

    def __str__(self) -> str:
        return f"{self.file}:{self.line} ({self.code.co_name})"

    def __repr__(self) -> str:
        return f"Source({self})"


def user_source(depth: int = 1) -> Source | None:
    """The innermost frame that is the user's, ``None`` if there is none, within the scopes that are open."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        known = _internal.get(code)
        if known is None:
            known = is_internal(code)
        if not known:
            return Source(code, frame.f_lasti, (), open_scopes.names)
        frame = frame.f_back
    return None
