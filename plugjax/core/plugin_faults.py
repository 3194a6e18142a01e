"""Faults in the hooks of plugins from outside: charged to the plugin by name, while everything else goes on.

A hook that raises counts as one that gives nothing, and so does one whose answer is of the wrong kind. Two things pass:
``KeyboardInterrupt``, and a refusal of a program (:class:`JaxRuntimeError`) by what compiles or rewrites programs. What a
wrapper of compilations gets from inside, results and errors, is not its own and is never lost.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from plugjax.core.config import Option
from plugjax.core.errors import JaxRuntimeError

_Program = TypeVar("_Program")

# Called with the name of the hook and what it raised.
Charge = Callable[[str, BaseException], None]

POLICIES = ("error", "warn", "silent")


def guarded(plugin: Any, charge: Charge) -> types.SimpleNamespace:
    """The hooks of a plugin, safe to call, as an object to register in its place."""
    hooks = types.SimpleNamespace()
    for name in dir(plugin):
        function: Any = getattr(plugin, name, None)
        routine = isinstance(function, types.FunctionType | types.MethodType)
        if routine and isinstance(options := getattr(function, "plugjax_impl", None), dict):
            around = _guarded_wrapper if options["wrapper"] else _guarded
            if options["hookwrapper"]:
                around = _guarded_old_wrapper
            setattr(hooks, name, around(options["specname"] or name, function, charge))
    return hooks


def _guarded(hook: str, function: Callable[..., Any], charge: Charge) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _charging(hook, charge):
            return _answer(hook, function(*args, **kwargs), charge)
        return None

    return call


def _guarded_wrapper(hook: str, function: Callable[..., Any], charge: Charge) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Generator[None, Any, Any]:
        generator = _started(hook, function, args, kwargs, charge)
        if generator is None:
            return (yield)
        try:
            inner = yield
        except BaseException as error:
            try:
                generator.throw(error)
            except StopIteration as stop:
                return stop.value
            generator.close()
            raise
        with _charging(hook, charge):
            try:
                generator.send(inner)
            except StopIteration as stop:
                return _answer(hook, stop.value, charge)
            generator.close()
            raise RuntimeError("the wrapper yields twice")
        return inner

    return call


def _guarded_old_wrapper(
    hook: str, function: Callable[..., Any], charge: Charge
) -> Callable[..., Any]:
    # pluggy sends these a `Result`, which they may change; they return nothing.
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Generator[None, Any, None]:
        generator = _started(hook, function, args, kwargs, charge)
        outcome = yield
        if generator is None:
            return
        try:
            generator.send(outcome)
        except StopIteration:
            pass
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            charge(hook, error)
        else:
            generator.close()
            charge(hook, RuntimeError("the wrapper yields twice"))

    return call


def _started(
    hook: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    charge: Charge,
) -> Generator[None, Any, Any] | None:
    """A wrapper that has run to its ``yield``; `None` if it did not get there."""
    try:
        generator: Generator[None, Any, Any] = function(*args, **kwargs)
        next(generator)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if _is_refusal(hook, error):
            raise
        stopped = isinstance(error, StopIteration)
        charge(hook, RuntimeError("the wrapper does not yield") if stopped else error)
        return None
    return generator


@contextmanager
def _charging(hook: str, charge: Charge) -> Iterator[None]:
    """Charge an error to the plugin and end the block; refusals and ``KeyboardInterrupt`` pass."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if _is_refusal(hook, error):
            raise
        charge(hook, error)


def _is_refusal(hook: str, error: BaseException) -> bool:
    return hook in ("plugjax_compile", "plugjax_jaxpr_passes") and isinstance(
        error, JaxRuntimeError
    )


def _answer(hook: str, answer: Any, charge: Charge) -> Any:
    """What a hook gave, checked; the functions in it are guarded in their turn.

    Raises:
        TypeError: it is of the wrong kind.
    """
    if hook == "plugjax_backends":
        specs = list(answer)
        _require(all(map(_is_backend_spec, specs)), hook, "a list of BackendSpec", answer)
        return specs
    if hook == "plugjax_array_methods":
        methods = dict(answer)
        named = all(isinstance(n, str) and callable(f) for n, f in methods.items())
        _require(named, hook, "functions by name", answer)
        return methods
    if hook == "plugjax_jaxpr_passes":
        passes = list(answer)
        _require(all(map(callable, passes)), hook, "a list of functions", answer)
        return [_guarded_pass(hook, each, charge) for each in passes]
    if hook == "plugjax_instrument":
        _require(answer is None or callable(answer), hook, "a function or None", answer)
        return answer and _guarded_around(hook, answer, charge)
    if hook in ("plugjax_exporters", "plugjax_extensions", "plugjax_numpy_namespaces"):
        loaders = dict(answer)
        named = all(isinstance(n, str) and callable(f) for n, f in loaders.items())
        _require(named, hook, "functions by name", answer)
        return loaders
    if hook == "plugjax_options":
        options = list(answer)
        _require(all(isinstance(o, Option) for o in options), hook, "a list of Option", answer)
        return options
    if hook in ("plugjax_missing_rule", "plugjax_host_program"):
        _require(answer is None or callable(answer), hook, "a function or None", answer)
    if hook == "plugjax_compile":
        runs = answer is None or callable(getattr(answer, "run", None))
        _require(runs, hook, "an Executable or None", answer)
    if hook == "plugjax_fallback_policy":
        _require(answer is None or answer in POLICIES, hook, f"one of {POLICIES} or None", answer)
    return answer


def _require(fulfilled: bool, hook: str, wanted: str, answer: Any) -> None:
    if not fulfilled:
        raise TypeError(f"{hook} gives {wanted}, got {answer!r}")


def _is_backend_spec(spec: Any) -> bool:
    return (
        isinstance(getattr(spec, "name", None), str)
        and callable(getattr(spec, "load", None))
        and isinstance(getattr(spec, "priority", None), int)
        and all(isinstance(need, str) for need in getattr(spec, "needs", (None,)))
    )


def _guarded_pass(
    hook: str, each: Callable[[_Program], _Program], charge: Charge
) -> Callable[[_Program], _Program]:
    def run(jaxpr: _Program) -> _Program:
        with _charging(hook, charge):
            found = each(jaxpr)
            _require(isinstance(found, type(jaxpr)), hook, "passes that give a ClosedJaxpr", found)
            return found
        return jaxpr

    return run


def _guarded_around(
    hook: str, around: Callable[[Any], Any], charge: Charge
) -> Callable[[Any], Any]:
    def make(call: Any) -> Any:
        with _charging(hook, charge):
            found = around(call)
            _require(callable(found), hook, "what can be called", found)
            return found
        return call

    return make
