"""Tracebacks that end at the user's line: frames of the framework are taken out.

A boundary is a function that users call. An error that leaves it for the user's code goes on without our frames. Three kinds of
functions are boundaries: those that :func:`api_boundary` decorates, the public functions of a namespace
(:func:`plugjax.transforms.namespaces.publish`), and functions with a ``try`` of their own, which costs nothing while no error comes. Inside the framework
boundaries do nothing: errors that it catches are not looked at.

The option ``traceback_filtering`` says how, as in JAX: ``quiet_remove_frames`` removes the frames and says so in a note,
``remove_frames`` shows the whole traceback before as the error's cause, ``tracebackhide`` marks the frames for IPython and pytest,
``off`` does nothing. ``auto`` is ``tracebackhide`` in IPython, ``quiet_remove_frames`` elsewhere.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
from collections.abc import Callable
from types import CellType, CodeType, FrameType, FunctionType, TracebackType
from typing import Any, TypeVar, cast

from plugjax.core import above
from plugjax.core.config import config
from plugjax.core.source_info import is_internal

F = TypeVar("F", bound=Callable[..., Any])
NOTE = (
    "Frames of plugjax are left out of this traceback. PLUGJAX_TRACEBACK_FILTERING=off shows them."
)


# Functions with a `try` of their own, which are boundaries already.
own_boundaries: set[CodeType] = set()


class UnfilteredStackTrace(Exception):  # noqa: N818  # JAX's name
    """Carries the whole traceback of an error, as its cause."""


def shorten_traceback() -> None:
    """Take the framework's frames out of the error that is handled, if the boundary that calls this was called by the user.

    The boundary then raises the error again by a bare ``raise``, which adds no frame.
    """
    caller = sys._getframe(1).f_back
    error = sys.exception()
    if error is None or not isinstance(error, Exception):
        return
    if caller is not None and is_internal(caller.f_code):
        return
    mode = config.read("traceback_filtering")
    if mode == "auto":
        mode = "tracebackhide" if hasattr(builtins, "get_ipython") else "quiet_remove_frames"
    if mode == "tracebackhide":
        _hide_frames(error.__traceback__)
    elif mode == "quiet_remove_frames":
        _remove_frames(error)
        if NOTE not in getattr(error, "__notes__", ()):
            error.add_note(NOTE)
    elif mode == "remove_frames":
        if not isinstance(error.__cause__, UnfilteredStackTrace):
            _keep_the_whole(error, caller)
        error.__traceback__ = users_frames(error.__traceback__)


above.shorten_traceback = shorten_traceback


def users_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without the framework's frames."""
    found: TracebackType | None = None
    for each in reversed(_entries(traceback)):
        if not is_internal(each.tb_frame.f_code):
            found = TracebackType(found, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return found


def _entries(traceback: TracebackType | None) -> list[TracebackType]:
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found


def _hide_frames(traceback: TracebackType | None) -> None:
    for each in _entries(traceback):
        if is_internal(each.tb_frame.f_code):
            each.tb_frame.f_locals["__tracebackhide__"] = True


def _remove_frames(error: BaseException) -> None:
    """In the error and in those that it came of. An error that the framework raised and handled itself is not shown."""
    error.__traceback__ = users_frames(error.__traceback__)
    seen = {id(error)}
    while True:
        cause, context = error.__cause__, error.__context__
        before = cause if cause is not None or error.__suppress_context__ else context
        if before is None or id(before) in seen:
            return
        kept = users_frames(before.__traceback__)
        if cause is None and kept is None:
            error.__suppress_context__ = True
            return
        before.__traceback__ = kept
        seen.add(id(before))
        error = before


def _keep_the_whole(error: Exception, caller: FrameType | None) -> None:
    whole = UnfilteredStackTrace(
        f"{type(error).__name__}: {error}\n\n"
        "The traceback above is whole. That below leaves out the frames of plugjax."
    )
    traceback, frame = error.__traceback__, caller
    while frame is not None:
        traceback = TracebackType(traceback, frame, frame.f_lasti, frame.f_lineno)
        if frame.f_code.co_name == "<module>":
            break
        frame = frame.f_back
    whole.__traceback__ = traceback
    whole.__cause__, whole.__context__ = error.__cause__, error.__context__
    whole.__suppress_context__ = error.__suppress_context__
    error.__cause__ = whole


def api_boundary(function: F) -> F:
    """Decorator of functions that users call: errors leave it without the framework's frames.

    The result takes arguments by the same names, so that Python need not pack them: it costs a quarter of what
    ``*args, **kwargs`` cost.
    """
    if not isinstance(function, FunctionType):
        return function
    made, takes_names = _boundary_code(function.__code__)
    call = FunctionType(made, function.__globals__, closure=_cells(function))
    functools.update_wrapper(call, function)
    if takes_names:
        call.__defaults__, call.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return cast("F", call)


def behind_boundary(function: Any) -> Any:
    """The function that a boundary calls; any other function as it is."""
    if isinstance(function, FunctionType) and function.__code__ in own_boundaries:
        return getattr(function, "__wrapped__", function)
    return function


def _cells(function: Callable[..., Any]) -> tuple[CellType, ...]:
    """The closure of the code of `_forwarding`: its free variables in the order of their names."""
    return CellType(function), CellType(shorten_traceback)


@functools.cache
def _boundary_code(code: CodeType) -> tuple[CodeType, bool]:
    """The code of the boundary of a function with this code, and whether it takes arguments by the same names."""
    packs = bool(code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
    positional, named = code.co_argcount, code.co_kwonlyargcount
    made = _forwarding(positional, named, packs).replace(
        co_name=code.co_name, co_qualname=code.co_qualname
    )
    if not packs:
        names = code.co_varnames[: positional + named]
        # The names of the keywords stand among the constants, as the only tuple.
        constants = [names[positional:] if isinstance(c, tuple) else c for c in made.co_consts]
        made = made.replace(
            co_varnames=names,
            co_posonlyargcount=code.co_posonlyargcount,
            co_consts=tuple(constants),
        )
    own_boundaries.add(made)
    return made, not packs


_FORWARDING = """
def made(function, shorten_traceback):
    def call({parameters}):
        try:
            return function({arguments})
        except Exception:
            shorten_traceback()
            raise
    return call
"""


@functools.cache
def _forwarding(positional: int, named: int, packs: bool) -> CodeType:
    """The code of a function of so many parameters that calls another with them; parameters are renamed afterwards."""
    if packs:
        parameters = arguments = "*args, **kwargs"
    else:
        first = [f"p{i}" for i in range(positional)]
        then = [f"k{i}" for i in range(named)]
        parameters = ", ".join([*first, *(["*", *then] if then else [])])
        arguments = ", ".join([*first, *(f"{k}={k}" for k in then)])
    text = _FORWARDING.format(parameters=parameters, arguments=arguments)
    space: dict[str, Any] = {}
    exec(compile(text, "<plugjax boundary>", "exec"), space)
    found: CodeType = space["made"](None, shorten_traceback).__code__
    return found
