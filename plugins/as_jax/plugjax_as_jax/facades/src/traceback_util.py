"""``jax._src.traceback_util``: which frames are not the user's, and functions whose errors end at the user's line."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

from plugjax.extend.source_info_util import register_exclusion as _register

Function = TypeVar("Function", bound=Callable[..., Any])


class _Excluded(list[str]):
    """Paths whose frames are hidden; a path that is added is."""

    def append(self, path: str) -> None:
        _register(path)
        super().append(path)


_exclude_paths: list[str] = _Excluded()


def register_exclusion(path: str) -> None:
    """Count the frames of a file as no user's code."""
    _exclude_paths.append(path)


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is the user's."""
    return not frame.f_code.co_filename.startswith(tuple(_exclude_paths))


def api_boundary(fun: Function, **_: Any) -> Function:
    """The function; those of plugjax shorten tracebacks themselves."""
    return fun
