"""Configuration: JAX's option names, thread-local overrides, and one fingerprint for cache keys.

``config.update("jax_enable_x64", True)`` sets a value for all threads; ``with enable_x64(): ...`` overrides it in one
thread. Options that change what a program means or how it is compiled belong to ``config.fingerprint``, an interned
object that every cache key holds, together with the generation of the rules in force: switching back and forth finds the
old entries again. Environment variables are ``PLUGJAX_*`` (``PLUGJAX_ENABLE_X64=1``), else ``JAX_*``.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal


def boolean(text: str) -> bool:
    """The truth value that an environment variable says.

    Raises:
        ValueError: it says none.

    Example:
        >>> boolean("on"), boolean("0")
        (True, False)
    """
    lowered = text.strip().lower()
    if lowered in ("1", "true", "yes", "on"):
        return True
    if lowered in ("0", "false", "no", "off", ""):
        return False
    raise ValueError(f"expected a boolean such as 1, 0, true or false, got {text!r}")


# What an option may have the framework show to plugins, or do in the open, while it has a certain value.
Observed = Literal["equations", "operators", "ended traces", "cache misses", "transfers"]


@dataclass(frozen=True)
class Option:
    """One option of the configuration; plugins declare theirs by the hook ``plugjax_options``.

    Attributes:
        name: without ``jax_``.
        default: the value where the user sets none.
        parse: from the text of the environment variable ``PLUGJAX_<NAME>``.
        choices: the accepted values; empty if any is.
        in_key: whether programs or compilations depend on it, so that keys of caches do.
        help: what it does, in words.
        observes: by value, what plugins want to see while it is set. ``"equations"``: each is run by itself and knows its
            source and the transformations around it. ``"operators"``: the functions behind operators run at every call.
            ``"ended traces"``, ``"cache misses"`` and ``"transfers"``: the hooks of these names are called.

    Example:
        >>> Option("checks", False, boolean).check("often")
        Traceback (most recent call last):
        ValueError: config checks: expected True or False, got 'often'
    """

    name: str
    default: Any
    parse: Callable[[str], Any] = str
    choices: tuple[Any, ...] = ()
    in_key: bool = False
    help: str = ""
    observes: Mapping[Any, Observed] = field(default_factory=dict)

    def check(self, value: Any) -> Any:
        """Return ``value``, or raise ``ValueError`` naming what is accepted."""
        if isinstance(self.default, bool) and not isinstance(value, bool):
            raise ValueError(f"config {self.name}: expected True or False, got {value!r}")
        if self.choices and value not in self.choices:
            raise ValueError(f"config {self.name}: expected one of {self.choices}, got {value!r}")
        return value


_CORE_OPTIONS = (
    Option("enable_x64", False, boolean, in_key=True, help="keep 64-bit dtypes"),
    Option("disable_jit", False, boolean, in_key=True, help="run jit and control flow as plain Python"),
    Option("eager", "auto", choices=("host", "compile", "auto"), in_key=True, help="how primitives run outside of jit"),
    Option("default_device", None, in_key=True, help="device of uncommitted arrays"),
    Option("backend", "", in_key=True, help="backend of the default device"),
    Option("platforms", None, in_key=True, help="backends or hardware, by commas; the first has the default device"),
    Option("num_cpu_devices", -1, int, help="devices that each backend makes of the processor"),
    Option("fallback", "warn", choices=("error", "warn", "silent"), in_key=True, help="when a primitive has no lowering"),
    Option("enable_compilation_cache", True, boolean, help="the persistent cache"),
    Option("compilation_cache_dir", None, help="its folder; PLUGJAX_CACHE_DIR comes first"),
    Option("traceback_filtering", "auto", choices=("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"), help="hide the framework's frames"),
    Option("enable_checks", False, boolean, help="check jaxprs after every pass"),
)  # fmt: skip


class Fingerprint:
    """The rules' generation and the options that compilation depends on; interned, so a key of caches by identity.

    Attributes:
        generation: of the rules in force.
        options: values by name.
    """

    __slots__ = ("generation", "options")

    def __init__(self, generation: int, options: Mapping[str, Any]) -> None:
        self.generation = generation
        self.options = options


class View:
    """What one thread sees: its overrides, the values that follow, and their fingerprint. A change for all threads writes to all views."""

    __slots__ = ("__weakref__", "fingerprint", "observed", "overrides", "values")

    fingerprint: Fingerprint
    observed: frozenset[Observed]
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
        self.options: dict[str, Option] = {}
        self._global: dict[str, Any] = {}
        self._interned: dict[tuple[Any, ...], Fingerprint] = {}
        self._views: weakref.WeakSet[View] = weakref.WeakSet()
        # Called in a thread after an override there begins or ends, or after it changed a global value.
        self.listeners: list[Callable[[], None]] = []
        # Loads the plugins, which may declare the option that was asked for; says which are not in force.
        self.load_plugins: Callable[[], str] = str
        self.declare(_CORE_OPTIONS)

    def declare(self, options: Iterable[Option]) -> None:
        """Take options in, with what the environment says of them; those that are declared already stay as they are.

        Raises:
            ValueError: an environment variable says what an option does not accept.
        """
        with self._lock:
            for option in options:
                if option.name in self.options:
                    continue
                self._global[option.name] = _initial(option)
                self.options[option.name] = option
            for view in self._views:
                self._refresh(view)

    def option(self, name: str) -> Option:
        """The option of a name, with or without ``jax_``.

        Raises:
            AttributeError: no plugin declares it.
        """
        short = name.removeprefix("jax_")
        found = self.options.get(short)
        if found is not None:
            return found
        absent = self.load_plugins()
        found = self.options.get(short)
        if found is None:
            known = ", ".join(self.options)
            raise AttributeError(f"Unrecognized config option: {name}. Known: {known}.{absent}")
        return found

    def _new_view(self) -> View:
        view = View()
        with self._lock:
            self._refresh(view)
            self._views.add(view)
        return view

    def _refresh(self, view: View) -> None:
        """Bring a view up to date; the caller holds the lock."""
        view.values = {**self._global, **view.overrides}
        options = {n: view.values[n] for n, option in self.options.items() if option.in_key}
        key = (self._generation, *options.values())
        view.fingerprint = self._interned.setdefault(key, Fingerprint(self._generation, options))
        view.observed = frozenset(
            option.observes[view.values[n]]
            for n, option in self.options.items()
            if option.observes and view.values[n] in option.observes
        )

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
        option = self.option(name)
        with self._lock:
            self._global[option.name] = option.check(value)
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
        # The option first: asking for it may load plugins, which replaces the view's values.
        option = self.option(name)
        values = this_thread.view.values
        # Another thread may be declaring it.
        return values[option.name] if option.name in values else self._global[option.name]

    @property
    def values(self) -> dict[str, Any]:
        """All options by JAX's names, with their values in this thread."""
        self.load_plugins()
        return {f"jax_{name}": value for name, value in sorted(this_thread.view.values.items())}

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"

    def observes(self, what: Observed) -> bool:
        """Whether an option that is set in this thread has plugins see ``what``: see :class:`Option`."""
        return what in this_thread.view.observed

    @contextmanager
    def override(self, name: str, value: Any) -> Iterator[None]:
        """Override an option in this thread, within a ``with`` block."""
        take_back = self.put(name, value)
        try:
            yield
        finally:
            take_back()

    def put(self, name: str, value: Any) -> Callable[[], None]:
        """Override an option in this thread; what is returned takes it back, if it is ever called."""
        option, view = self.option(name), this_thread.view
        before = {n: v for n, v in view.overrides.items() if n == option.name}
        self._replace(view, option.name, {option.name: option.check(value)})
        return functools.partial(self._replace, view, option.name, before)

    def _replace(self, view: View, name: str, override: dict[str, Any]) -> None:
        rest = {n: v for n, v in view.overrides.items() if n != name}
        with self._lock:
            view.overrides = {**rest, **override}
            self._refresh(view)
        self._notify()

    @property
    def x64_enabled(self) -> bool:
        """The option ``enable_x64``, by an older name."""
        return bool(self.read("enable_x64"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.read(name)


def _initial(option: Option) -> Any:
    variable = f"PLUGJAX_{option.name.upper()}"
    if variable not in os.environ:
        variable = variable.removeprefix("PLUG")
    text = os.environ.get(variable)
    if text is None:
        return option.default
    try:
        return option.check(option.parse(text))
    except ValueError as error:
        raise ValueError(f"environment variable {variable}: {error}") from None


config = Config()
this_thread = _ThisThread()
