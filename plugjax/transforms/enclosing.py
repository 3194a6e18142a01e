"""What is around a primitive that is being bound: transformations, and loops that run as plain Python.

No list of them is kept. `enclosing` walks the Python stack, where every transformation has a frame, so there is no cost until
it is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from plugjax.core.primitive import Trace
from plugjax.core.source_info import Source

# What to say, from a frame's local variables, about code that is around the user's.
frame_words: dict[CodeType, Callable[[dict[str, Any]], str]] = {}


def describe_frames(function: Any, words: Callable[[dict[str, Any]], str]) -> None:
    """Have calls of ``function`` described, by its local variables, in errors about what it runs."""
    frame_words[function.__code__] = words


def enclosing(until: CodeType | None = None) -> tuple[Any, ...]:
    """The steps around the caller, outermost first.

    Args:
        until: the walk outwards stops at a frame of this code.

    Returns:
        Words; of a ``vmap``, what its trace says of itself (``Trace.step``).
    """
    found: list[Any] = []
    # A primitive goes from the innermost transformation to the outermost: their frames are the other way round than the
    # transformations are.
    run: list[Any] = []
    seen: set[int] = set()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not until:
        words = frame_words.get(frame.f_code)
        if words is not None:
            found += [*reversed(run), words(frame.f_locals)]
            run = []
        elif frame.f_code.co_name == "process":
            trace = frame.f_locals.get("self")
            # The evaluator and staging traces have no parent: they are no transformation.
            if isinstance(trace, Trace) and hasattr(trace, "parent") and id(trace) not in seen:
                seen.add(id(trace))
                run.append(trace.step(frame.f_locals))
        frame = frame.f_back
    found += reversed(run)
    return tuple(reversed(found))


def source_with_enclosing(source: Source | None, until: CodeType) -> Source | None:
    """The source of an equation with the transformations around it, those inside a frame of ``until``."""
    if source is None:
        return None
    around = (*enclosing(until), *source.within)
    return Source(source.code, source.instruction, around, source.scopes)
