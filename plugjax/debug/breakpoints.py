"""``debug.breakpoint``: a debugger at a point of a program, with the run-time values of the variables."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from plugjax.debug.cli_debugger import CliDebugger
from plugjax.debug.frames import DebuggerFrame, TracedFrames, frames_above
from plugjax.extend import pytree
from plugjax.lax.callback import pure_callback
from plugjax.lax.conversion import stop_gradient
from plugjax.lax.debug_callback import bind_debug_callback

Debugger = Callable[..., None]


def _command_line(frames: list[DebuggerFrame], thread_id: int | None, **options: Any) -> None:
    CliDebugger(frames, thread_id, **options).run()


_debuggers: dict[str, Debugger] = {"cli": _command_line}

# Threads share one terminal: only one breakpoint is open at a time.
_turn = threading.Lock()


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> Any:
    r"""Stop the program and inspect the values of its variables.

    In compiled and transformed code the debugger opens when the program runs, once per instance under ``vmap`` and once
    per step in a loop. It shows the frames at tracing time, with run-time values in place of tracers. It has the
    inspecting commands of ``pdb``: ``p``, ``pp``, ``args``, ``up``, ``down``, ``list``, ``where``, ``continue``,
    ``quit``; anything else is evaluated as an expression.

    Args:
        backend: name of the debugger; only ``"cli"`` exists.
        filter_frames: whether to leave out the framework's own frames.
        num_frames: number of frames to show, from the innermost.
        ordered: whether it runs in program order with other ordered callbacks.
        token: a pytree of arrays; the breakpoint then runs when the value of the returned ``token`` is needed.
        **kwargs: for the debugger: ``stdin``, ``stdout``, ``completekey``.

    Returns:
        ``token``, if there is one.

    Raises:
        ValueError: both ``ordered`` and ``token``, or an unknown debugger.

    Differs from JAX:
        Expressions see the variables of the frame's module too.

    Example:
        >>> import io, plugjax
        >>> @plugjax.jit
        ... def f(x):
        ...     y = x * 2
        ...     plugjax.debug.breakpoint(stdin=io.StringIO("p y\nc\n"), stdout=out)
        ...     return y
        >>> out = io.StringIO()
        >>> f(2.0)
        Array(4., dtype=float32, weak_type=True)
        >>> "Array(4., dtype=float32)" in out.getvalue()
        True
    """
    if token is not None and ordered:
        raise ValueError("breakpoint: `ordered` and `token` are exclusive. Give one of them.")
    if backend is not None and backend not in _debuggers:
        raise ValueError(f"breakpoint: no debugger {backend!r}; there is: {', '.join(_debuggers)}.")
    debugger = _debuggers[backend or "cli"]
    found = frames_above(sys._getframe(1), all_frames=not filter_frames)[:num_frames]
    traced = TracedFrames(found)
    tracers = traced.take()

    def stop(*values: Any) -> None:
        main = threading.current_thread() is threading.main_thread()
        with _turn:
            debugger(traced.filled(values), None if main else threading.get_ident(), **kwargs)

    if token is None:
        in_tree = pytree.structure((tuple(tracers), {}))
        bind_debug_callback(stop, in_tree, tracers, (), ordered=ordered, partitioned=False)
        return None
    return _before(token, stop, tracers)


def _before(token: Any, stop: Callable[..., None], tracers: Sequence[Any]) -> Any:
    """The token; it depends on the breakpoint."""

    def stop_and_pass(token: Any, *values: Any) -> Any:
        stop(*values)
        return token

    token, tracers = pytree.tree_map(stop_gradient, (token, list(tracers)))
    return pure_callback(stop_and_pass, token, token, *tracers)
