"""Configuration: JAX's option names, thread-local overrides, and one fingerprint for cache keys.

``config.update("jax_enable_x64", True)`` sets a value for all threads; ``with enable_x64(): ...`` overrides it in one
thread. Options that change what a program means or how it is compiled belong to ``config.fingerprint``, an interned
object that every cache key holds, together with the generation of the rules in force: switching back and forth finds the
old entries again. Environment variables are ``PLUGJAX_*``: ``PLUGJAX_ENABLE_X64=1``.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("0", "false", "no", "off", ""):
        return False
    raise ValueError(f"expected a boolean such as 1, 0, true or false, got {text!r}")


@dataclass(frozen=True)
class Option:
    """One option: its name, default, accepted values, and whether compilation keys depend on it."""

    name: str
    default: Any
    parse: Callable[[str], Any] = str
    choices: tuple[Any, ...] = ()
    in_key: bool = False
    help: str = ""

    def check(self, value: Any) -> Any:
        """Return ``value``, or raise ``ValueError`` naming what is accepted."""
        if isinstance(self.default, bool) and not isinstance(value, bool):
            raise ValueError(f"config {self.name}: expected True or False, got {value!r}")
        if self.choices and value not in self.choices:
            raise ValueError(f"config {self.name}: expected one of {self.choices}, got {value!r}")
        return value


OPTIONS = {
    option.name: option
    for option in (
        Option("enable_x64", False, _boolean, in_key=True, help="keep 64-bit dtypes"),
        Option("debug_nans", False, _boolean, in_key=True, help="raise where a nan appears"),
        Option("debug_infs", False, _boolean, in_key=True, help="raise where an inf appears"),
        Option("debug_key_reuse", False, _boolean, in_key=True, help="raise if a key is used twice"),
        Option("check_tracer_leaks", False, _boolean, help="raise if a tracer outlives its trace"),
        Option("explain_cache_misses", False, _boolean, help="log why jit traces a function again"),
        Option("disable_jit", False, _boolean, help="run jit and control flow as plain Python"),
        Option(
            "numpy_dtype_promotion", "standard", choices=("standard", "strict"), in_key=True,
            help="implicit promotion between dtypes",
        ),
        Option(
            "numpy_rank_promotion", "allow", choices=("allow", "warn", "raise"), in_key=True,
            help="implicit promotion between ranks",
        ),
        Option(
            "default_matmul_precision", None, in_key=True, help="precision of dot and convolution"
        ),
        Option("numerics", "default", choices=("strict", "default", "fast"), in_key=True),
        Option("eager", "auto", choices=("host", "compile", "auto"), in_key=True),
        Option("fallback", "warn", choices=("error", "warn", "silent"), in_key=True),
        Option(
            "verify", None, choices=(None, "off", "first", "always"), in_key=True,
            help="hold results of compiled programs against NumPy's",
        ),
        Option("default_device", None, in_key=True, help="device of uncommitted arrays"),
        Option("backend", "", in_key=True, help="backend of the default device"),
        Option("traceback_filtering", "auto", choices=("auto", "off")),
        Option("enable_checks", False, _boolean, help="check jaxprs after every pass"),
        Option("threefry_partitionable", True, _boolean, in_key=True),
        Option("default_prng_impl", "threefry2x32", in_key=True),
        Option("enable_custom_prng", False, _boolean, in_key=True),
        Option("use_compilation_cache", True, _boolean, help="the persistent cache"),
    )
}  # fmt: skip


def _option(name: str) -> Option:
    option = OPTIONS.get(name.removeprefix("jax_"))
    if option is None:
        raise AttributeError(f"Unrecognized config option: {name}. Known: {', '.join(OPTIONS)}")
    return option


class Fingerprint:
    """The rules' generation and the options that compilation depends on; interned, so a key of caches by identity.

    Attributes:
        values: the generation, and the options in the order of ``OPTIONS``.
    """

    __slots__ = ("values",)

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"Fingerprint{self.values}"


class View:
    """What one thread sees: its overrides, the values that follow, and their fingerprint. A change for all threads writes to all views."""

    __slots__ = ("__weakref__", "fingerprint", "overrides", "values")

    fingerprint: Fingerprint
    values: dict[str, Any]

    def __init__(self) -> None:
        self.overrides: dict[str, Any] = {}


class _ThisThread(threading.local):
    """``this_thread.view`` is the thread's view; its fingerprint is two attributes away."""

    def __init__(self) -> None:
        self.view = config._new_view()


class Config:
    """The configuration in force in this thread; see the module's docstring.

    Example:
        >>> import plugjax
        >>> plugjax.config.jax_enable_x64
        False
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = 0
        self._global = {name: option.default for name, option in OPTIONS.items()}
        self._interned: dict[tuple[Any, ...], Fingerprint] = {}
        self._views: weakref.WeakSet[View] = weakref.WeakSet()
        # Called in a thread after an override there begins or ends, or after it changed a global value.
        self.listeners: list[Callable[[], None]] = []
        for name, option in OPTIONS.items():
            text = os.environ.get(f"PLUGJAX_{name.upper()}")
            if text is not None:
                try:
                    self._global[name] = option.check(option.parse(text))
                except ValueError as error:
                    raise ValueError(
                        f"environment variable PLUGJAX_{name.upper()}: {error}"
                    ) from None

    def _new_view(self) -> View:
        view = View()
        with self._lock:
            self._refresh(view)
            self._views.add(view)
        return view

    def _refresh(self, view: View) -> None:
        """Bring a view up to date; the caller holds the lock."""
        view.values = {**self._global, **view.overrides}
        options = (view.values[name] for name, option in OPTIONS.items() if option.in_key)
        key = (self._generation, *options)
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = Fingerprint(key)
        view.fingerprint = found

    @property
    def fingerprint(self) -> Fingerprint:
        """What cache keys hold."""
        return this_thread.view.fingerprint

    @property
    def enable_x64(self) -> bool:
        """Whether 64-bit dtypes are kept."""
        return bool(this_thread.view.values["enable_x64"])

    @property
    def disable_jit(self) -> bool:
        """Whether ``jit`` and control flow run as plain Python."""
        return bool(this_thread.view.values["disable_jit"])

    def update(self, name: str, value: Any) -> None:
        """Set an option for all threads.

        Args:
            name: JAX's name of the option, with or without ``jax_``.
            value: the new value.

        Raises:
            AttributeError: no such option.
            ValueError: the value is not one that the option accepts.
        """
        option = _option(name)
        option.check(value)
        with self._lock:
            self._global[option.name] = value
            for view in self._views:
                self._refresh(view)
        self._notify()

    def use_generation(self, generation: int) -> None:
        """Make the registry's ``generation`` part of the fingerprint, and so of every cache key."""
        with self._lock:
            self._generation = generation
            for view in self._views:
                self._refresh(view)
        self._notify()

    def _notify(self) -> None:
        for listener in self.listeners:
            listener()

    def read(self, name: str) -> Any:
        """The value of an option in this thread."""
        return this_thread.view.values[_option(name).name]

    @contextmanager
    def override(self, name: str, value: Any) -> Iterator[None]:
        """Override an option in this thread, within a ``with`` block."""
        option = _option(name)
        option.check(value)
        view = this_thread.view
        missing = object()
        previous = view.overrides.get(option.name, missing)
        self._replace(view, {**view.overrides, option.name: value})
        try:
            yield
        finally:
            rest = {k: v for k, v in view.overrides.items() if k != option.name}
            self._replace(view, rest if previous is missing else {**rest, option.name: previous})

    def _replace(self, view: View, overrides: dict[str, Any]) -> None:
        with self._lock:
            view.overrides = overrides
            self._refresh(view)
        self._notify()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return this_thread.view.values[_option(name).name]


config = Config()
this_thread = _ThisThread()
