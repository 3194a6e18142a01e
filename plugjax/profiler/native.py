"""XLA's own profiler: reading what it wrote, and serving it to tools in other processes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from plugjax.extend import extensions


def of_xla(name: str) -> Any:
    """A name of XLA's profiler.

    Raises:
        RuntimeError: XLA is not installed.
    """
    try:
        return extensions.attribute("profiler", "XLA's profiler", name)
    except AttributeError as error:
        raise RuntimeError(
            f"profiler.{name}: no plugin in force brings XLA: {error} pip install plugjax-xla."
        ) from None


class _State:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.server: Any = None


_state = _State()


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Let tools such as TensorBoard record what XLA does in this process, through a port.

    Args:
        port: the number.
        requires_backend: whether XLA's runtime starts first.

    Returns:
        The server, which runs until :func:`stop_server`.

    Raises:
        ValueError: there is one already.
        RuntimeError: XLA is not installed.

    Differs from JAX:
        The server knows XLA's events alone; :func:`start_trace` records those of every backend.

    Example:
        >>> import socket, plugjax
        >>> with socket.socket() as free:
        ...     free.bind(("localhost", 0))
        ...     port = free.getsockname()[1]
        >>> server = plugjax.profiler.start_server(port, requires_backend=False)
        >>> plugjax.profiler.start_server(port)
        Traceback (most recent call last):
        ValueError: Only one profiler server can be active at a time. ...
        >>> plugjax.profiler.stop_server()
    """
    with _state.lock:
        if _state.server is not None:
            raise ValueError(
                "Only one profiler server can be active at a time. Call stop_server first."
            )
        _state.server = of_xla("start_server")(port, requires_backend)
        return _state.server


def stop_server() -> None:
    """End the server of :func:`start_server`.

    Raises:
        ValueError: there is none.

    Example:
        >>> import plugjax
        >>> plugjax.profiler.stop_server()
        Traceback (most recent call last):
        ValueError: No active profiler server.
    """
    with _state.lock:
        if _state.server is None:
            raise ValueError("No active profiler server.")
        _state.server = None


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Record what XLA does in another process together with this one.

    Args:
        pid: number of the process.
        port: that of its server (:func:`start_server`).

    Returns:
        A function that ends it.

    Raises:
        RuntimeError: there is no such server within 30 seconds, or XLA is not installed.
        ValueError: the port is no number of a port.

    Example:
        >>> import plugjax
        >>> plugjax.profiler.register_subprocess(1234, 99999)
        Traceback (most recent call last):
        ...
        ValueError: register_subprocess: port 99999 is not between 1 and 65535.
    """
    if not 0 < port < 1 << 16:
        raise ValueError(f"register_subprocess: port {port} is not between 1 and 65535.")
    end: Callable[[], None] = of_xla("register_subprocess")(pid, port)
    return end
