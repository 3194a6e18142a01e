"""Where in the user's program an operation is written, and within which scopes, by JAX's names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from plugjax.core.primitive import state
from plugjax.core.source_info import Source, open_scopes, register_internal, user_source


class Transform(str):
    """A transformation in a stack of names: it is written around the scope after it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class NameStack:
    """Names of scopes and transformations, outermost first; printed as ``outer/jvp(inner)``.

    Example:
        >>> from plugjax.extend.source_info_util import new_name_stack
        >>> print(new_name_stack("outer").transform("jvp").extend("inner"))
        outer/jvp(inner)
    """

    stack: tuple[str, ...] = ()

    def extend(self, name: str) -> NameStack:
        """The stack with one more scope."""
        return NameStack((*self.stack, name))

    def transform(self, name: str) -> NameStack:
        """The stack with one more transformation."""
        return NameStack((*self.stack, Transform(name)))

    def __getitem__(self, index: slice) -> NameStack:
        return NameStack(self.stack[index])

    def __len__(self) -> int:
        return len(self.stack)

    def __add__(self, other: NameStack) -> NameStack:
        return NameStack(self.stack + other.stack)

    def __str__(self) -> str:
        parts: list[str] = []
        for name in reversed(self.stack):
            if isinstance(name, Transform):
                inner = parts.pop() if parts else ""
                parts.append(f"{name!s}({inner})")
            else:
                parts.append(name)
        return "/".join(reversed(parts))


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """Where an operation comes from.

    Attributes:
        traceback: the user's line; ``None`` if no frame was the user's. JAX has the frames around it as well.
        name_stack: names of the scopes around it.
    """

    traceback: Source | None
    name_stack: NameStack

    def replace(self, **changes: Any) -> SourceInfo:
        """The same with ``traceback`` or ``name_stack`` replaced."""
        return replace(self, **changes)


def source_info_of(source: Source | None) -> SourceInfo:
    """What an equation's ``source`` says."""
    return SourceInfo(source, NameStack(source.scopes if source is not None else ()))


def as_source(info: SourceInfo | Source | None) -> Source | None:
    """The ``source`` of an equation that comes from there."""
    if not isinstance(info, SourceInfo):
        return info
    line = info.traceback
    if line is None:
        return None
    return Source(line.code, line.instruction, line.within, info.name_stack.stack)


def current() -> SourceInfo:
    """The user's line that is running, within the scopes that are open."""
    return SourceInfo(user_source(2), current_name_stack())


def new_source_info() -> SourceInfo:
    """Nowhere: no line and no scopes."""
    return SourceInfo(None, NameStack())


def new_name_stack(name: str = "") -> NameStack:
    """A stack of one scope; of none without a name."""
    return NameStack((name,) if name else ())


def current_name_stack() -> NameStack:
    """Names of the scopes that are open, outermost first."""
    return NameStack(open_scopes.names)


@contextmanager
def set_name_stack(name_stack: NameStack) -> Iterator[None]:
    """Within the block, operations carry these names."""
    outer = open_scopes.names
    open_scopes.names = name_stack.stack
    try:
        yield
    finally:
        open_scopes.names = outer


@contextmanager
def extend_name_stack(name: str) -> Iterator[NameStack]:
    """Within the block, operations carry one more name."""
    inner = current_name_stack().extend(name)
    with set_name_stack(inner):
        yield inner


@contextmanager
def transform_name_stack(name: str) -> Iterator[NameStack]:
    """Within the block, operations carry the name of a transformation around that of the next scope."""
    inner = current_name_stack().transform(name)
    with set_name_stack(inner):
        yield inner


@contextmanager
def reset_name_stack() -> Iterator[None]:
    """Within the block, operations carry no names of what is around it."""
    with set_name_stack(NameStack()):
        yield


@contextmanager
def user_context(
    traceback: Source | None, *, name_stack: NameStack | None = None
) -> Iterator[None]:
    """Within the block, equations come from the given line and scopes, as those do that are interpreted.

    Args:
        traceback: the line of an equation, ``eqn.source_info.traceback``; ``None`` for the line that is running.
        name_stack: names that operations carry; those that are open, if it is left out.
    """
    stack = current_name_stack() if name_stack is None else name_stack
    outer = state.source
    if traceback is not None:
        state.source = as_source(SourceInfo(traceback, stack))
    try:
        with set_name_stack(stack):
            yield
    finally:
        state.source = outer


def register_exclusion(path: str) -> None:
    """Count files below a folder as no user's code."""
    register_internal(path)


def summarize(source_info: SourceInfo | Source | None) -> str:
    """File, line and function."""
    source = source_info.traceback if isinstance(source_info, SourceInfo) else source_info
    return str(source) if source is not None else "unknown"


__all__ = [
    "NameStack",
    "SourceInfo",
    "current",
    "current_name_stack",
    "extend_name_stack",
    "new_name_stack",
    "new_source_info",
    "register_exclusion",
    "reset_name_stack",
    "set_name_stack",
    "summarize",
    "transform_name_stack",
    "user_context",
]
