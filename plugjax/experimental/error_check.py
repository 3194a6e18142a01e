"""Errors of compiled programs that Python raises later: the first one is kept in a reference.

:func:`set_error_if` may stand in any function, traced or not; the program goes on. :func:`raise_if_error` raises what was set first.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax.extend.core import Array, Tracer, user_source
from plugjax.extend.execution import ensure_compile_time_eval
from plugjax.extend.transforms import show_only
from plugjax.state import Ref, new_ref

__all__ = [
    "JaxValueError",
    "error_checking_context",
    "raise_if_error",
    "set_error_if",
    "unwrap_from_import",
    "wrap_for_export",
]

# A code says which message is to be raised; the reference keeps the first one.
_NO_ERROR = np.uint32(np.iinfo(np.uint32).max)
_UNKNOWN = (
    "An unknown error occurred during execution of an exported function: its error code stands for no message. The artifact "
    "may be damaged, or of another version."
)


class JaxValueError(ValueError):
    """A value for which :func:`set_error_if` was told to set an error."""


class _Messages:
    """What can be raised: messages, and where :func:`set_error_if` stands."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []
        self._codes: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def add(self, message: str, place: str) -> np.uint32:
        """Keep a message; gives its code, which is the same each time."""
        with self._lock:
            code = self._codes.setdefault((message, place), len(self.found))
            if code == len(self.found):
                self.found.append((message, place))
            return np.uint32(code)


class _Storage(threading.local):
    """The reference that keeps the code of the first error, and the messages that codes stand for."""

    def __init__(self) -> None:
        self.ref: Ref | None = None
        self.messages = _messages


_messages = _Messages()
_storage = _Storage()


def _new_code() -> Ref:
    with ensure_compile_time_eval():
        return new_ref(jnp.uint32(_NO_ERROR))


def _code() -> Ref:
    if _storage.ref is None:
        _storage.ref = _new_code()
    return _storage.ref


class error_checking_context:  # noqa: N801  # JAX's name
    """Within the block errors are kept apart from those outside.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import error_check
        >>> with error_check.error_checking_context():
        ...     error_check.set_error_if(jnp.array(True), "lost with the block")
        >>> error_check.raise_if_error()
    """

    __slots__ = ("_outer",)

    def __enter__(self) -> error_checking_context:
        self._outer = _storage.ref
        _storage.ref = _new_code()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _storage.ref = self._outer


def set_error_if(pred: Array, /, msg: str) -> None:
    """Set an error where a predicate is true; the first one is kept. Under ``vmap`` this is refused, as is any write to a reference.

    Args:
        pred: bool array ``[...]``; one true element is enough.
        msg: what :func:`raise_if_error` says.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental import error_check
        >>> @plugjax.jit
        ... def root(x):
        ...     error_check.set_error_if(x < 0, "x is negative")
        ...     return jnp.sqrt(x)
        >>> y = root(-1.0)
        >>> error_check.raise_if_error()
        Traceback (most recent call last):
        plugjax.experimental.error_check.JaxValueError: x is negative
        ...
    """
    ref = _code()
    code = _storage.messages.add(msg, str(user_source(1)))
    first = ref[...]
    ref[...] = jnp.where((first == _NO_ERROR) & jnp.any(pred), code, first)


def raise_if_error() -> None:
    """Raise the error that was set first, and drop it; nothing if none was set.

    Raises:
        JaxValueError: with the message of :func:`set_error_if`, and a note that says where it stands.
        ValueError: it is called in a function that is traced.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import error_check
        >>> error_check.set_error_if(jnp.array([False, True]), "second")
        >>> error_check.raise_if_error()
        Traceback (most recent call last):
        plugjax.experimental.error_check.JaxValueError: second
        ...
    """
    ref = _storage.ref
    if ref is None:
        return
    code = ref[...]
    if isinstance(code, Tracer):
        raise ValueError(
            "raise_if_error() should not be called within a traced context, such as within a jitted function. Call it "
            "after the function, with its result."
        )
    number = int(code)
    if number == _NO_ERROR:
        return
    ref[...] = jnp.uint32(_NO_ERROR)
    message, place = _storage.messages.found[number]
    error = JaxValueError(message)
    if place:
        error.add_note(f"The error was set at {place}.")
    raise error


def wrap_for_export(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose errors are a part of its result, so that it can be exported.

    Args:
        f: function that may call :func:`set_error_if`.

    Returns:
        A function that gives ``(result, (code, messages))``: the code of the first error, and the messages as bytes.
        :func:`unwrap_from_import` takes it apart.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import error_check
        >>> def f(x):
        ...     error_check.set_error_if(x > 2, "too large")
        ...     return x
        >>> error_check.unwrap_from_import(error_check.wrap_for_export(f))(jnp.array(3.0))
        Array(3., dtype=float32, weak_type=True)
        >>> error_check.raise_if_error()
        Traceback (most recent call last):
        plugjax.experimental.error_check.JaxValueError: too large
        ...
    """

    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        outer = _storage.ref, _storage.messages
        own = _storage.messages = _Messages()
        # Made where the function is traced: the program has a reference of its own.
        ref = _storage.ref = new_ref(jnp.uint32(_NO_ERROR))
        try:
            out = f(*args, **kwargs)
            code = ref[...]
        finally:
            _storage.ref, _storage.messages = outer
        text = json.dumps(own.found).encode()
        return out, (code, jnp.frombuffer(text, jnp.uint8))

    return wrapped


def unwrap_from_import(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose errors :func:`raise_if_error` raises, from one that :func:`wrap_for_export` made.

    Args:
        f: what was wrapped, or an exported function of it, ``exported.call`` for example.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.experimental import error_check
        >>> error_check.unwrap_from_import(error_check.wrap_for_export(jnp.exp2))(3.0)
        Array(8., dtype=float32, weak_type=True)
    """

    @functools.wraps(f)
    def unwrapped(*args: Any, **kwargs: Any) -> Any:
        out, (code, text) = f(*args, **kwargs)
        found = json.loads(bytes(np.asarray(text)))
        codes = [_storage.messages.add(str(message), str(place)) for message, place in found]
        codes.append(_storage.messages.add(_UNKNOWN, ""))
        own = jnp.asarray(codes)[jnp.minimum(code, np.uint32(len(found)))]
        own = jnp.where(code == _NO_ERROR, _NO_ERROR, own)
        ref = _code()
        first = ref[...]
        ref[...] = jnp.where(first == _NO_ERROR, own, first)
        return out

    return unwrapped


show_only(globals(), __all__)
