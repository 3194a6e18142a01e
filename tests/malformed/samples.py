"""One valid call of every public function, as text that runs in either library.

The calls come from the docstrings' examples, where `plugjax` becomes `jax` for JAX's side; methods of arrays and
updates have a table.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plugjax.cli.parity import listed

# Functions that print, wait, read, write, or change the process.
APART = {
    "breakpoint", "callback", "print", "save", "savez", "load", "fromfile", "clear_caches", "live_arrays", "print_environment_info",
    "set_printoptions", "printoptions", "debug_nans", "make_jaxpr", "block_until_ready", "device_get", "devices", "local_devices",
    "default_backend", "process_index", "process_count", "device_count", "local_device_count", "process_indices",
    "register_pytree_node", "register_pytree_node_class", "register_pytree_with_keys", "register_pytree_with_keys_class",
    "register_dataclass", "register_static", "register_dtype_rule", "array_repr", "array_str", "array2string", "get_printoptions",
    "check_grads", "effects_barrier",
}  # fmt: skip

METHODS = {
    "all": "", "any": "", "argmax": "", "argmin": "", "argpartition": "1", "argsort": "", "astype": "'int32'", "choose": "[x, x]",
    "clip": "0, 1", "compress": "[True, False]", "conj": "", "copy": "", "cumprod": "", "cumsum": "", "diagonal": "", "dot": "x.T",
    "flatten": "", "item": "0", "max": "", "mean": "", "min": "", "nonzero": "", "prod": "", "ptp": "", "ravel": "", "repeat": "2",
    "reshape": "3, 2", "round": "", "searchsorted": "1.0", "sort": "", "squeeze": "", "std": "", "sum": "", "swapaxes": "0, 1",
    "take": "0", "trace": "", "transpose": "1, 0", "var": "", "view": "'int32'", "tolist": "", "to_device": "jax.devices()[0]",
    "__getitem__": "0", "__add__": "x", "__matmul__": "x.T", "__mod__": "x", "__pow__": "2", "__and__": "x > 0", "__lshift__": "1",
    "__lt__": "x", "__rsub__": "2", "__divmod__": "x",
}  # fmt: skip
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", "<", "==")
UPDATES = {"set": "1.0", "add": "1.0", "multiply": "2.0", "divide": "2.0", "power": "2", "min": "0.5", "max": "0.5", "get": "",
           "apply": "jnp.sin", "subtract": "1.0", "mul": "2.0"}  # fmt: skip


@dataclass(frozen=True)
class Argument:
    """An argument of a call: its text, its form, and its parameter."""

    text: str
    keyword: str | None
    parameter: str


@dataclass
class Sample:
    """A valid call: its preceding statements, the function and the arguments."""

    name: str
    setup: str
    function: str
    arguments: list[Argument]
    # Parameters with their defaults in the call.
    absent: dict[str, Any] = field(default_factory=dict)
    # Further replacements of an argument, by its parameter and value.
    replacements: Callable[[str, Any], dict[str, str]] | None = None

    def call(self, replace: dict[int, str] | None = None, extra: str = "", drop: int = 0) -> str:
        """The call as text, with some arguments replaced by another text."""
        texts = []
        for i, argument in enumerate(self.arguments[: len(self.arguments) - drop]):
            text = (replace or {}).get(i, argument.text)
            texts.append(f"{argument.keyword}={text}" if argument.keyword else text)
        return f"{self.function}({', '.join([*texts, *([extra] if extra else [])])})"


def _calls(source: str) -> Iterator[ast.Call]:
    yield from (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call))


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def _from_example(name: str, function: Any, oracle: Any) -> Sample | None:
    """The first call of ``function`` in its own example. Handlers that the example gives to loggers are taken away again."""
    loggers = [
        x for x in logging.Logger.manager.loggerDict.values() if isinstance(x, logging.Logger)
    ]
    handlers = [(logger, list(logger.handlers)) for logger in loggers]
    try:
        return _first_call(name, function, oracle)
    finally:
        for logger, before in handlers:
            logger.handlers[:] = before


def _first_call(name: str, function: Any, oracle: Any) -> Sample | None:
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(function) or "")
    setup = ""
    scope: dict[str, Any] = {}
    for example in examples:
        try:
            calls = list(_calls(example.source))
            exec(example.source if "import" in example.source else "", scope)
        except Exception:
            calls = []
        for call in calls:
            try:
                called = eval(ast.unparse(call.func), scope)
            except Exception:
                continue
            if called is function and not any(isinstance(a, ast.Starred) for a in call.args):
                return _described(name, setup, call, oracle)
        if example.exc_msg is None:
            setup += example.source
            try:
                exec(example.source, scope)
            except Exception:
                return None
    return None


def _described(name: str, setup: str, call: ast.Call, oracle: Any) -> Sample:
    parameters = _parameters(oracle)
    positional = [
        p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    arguments = [
        Argument(ast.unparse(a), None, positional[i].name if i < len(positional) else "*")
        for i, a in enumerate(call.args)
    ]
    arguments += [Argument(ast.unparse(k.value), k.arg, k.arg) for k in call.keywords if k.arg]
    given = {a.parameter for a in arguments}
    absent = {
        p.name: p.default
        for p in parameters.values()
        if p.default is not p.empty and p.name not in given and p.kind is not p.POSITIONAL_ONLY
    }
    return Sample(name, setup, ast.unparse(call.func), arguments, absent)


def described(name: str, setup: str, text: str, oracle: Any) -> Sample:
    """The sample of a call given as text, where ``oracle`` has the parameters."""
    return _described(name, setup, next(_calls(text)), oracle)


def samples() -> Iterator[Sample]:
    """A sample of each function that has one."""
    import jax

    seen = set()
    for namespace in ["", *listed()]:
        ours = importlib.import_module(f"plugjax.{namespace}".rstrip("."))
        try:
            theirs = importlib.import_module(f"jax.{namespace}".rstrip("."))
        except ImportError:
            continue
        for name in sorted(getattr(ours, "__all__", None) or dir(ours)):
            function, oracle = getattr(ours, name, None), getattr(theirs, name, None)
            foreign = (getattr(function, "__module__", None) or "").startswith("numpy")
            if name.startswith("_") or name in APART or foreign or id(function) in seen:
                continue
            if not callable(function) or oracle is None or isinstance(function, type):
                continue
            seen.add(id(function))
            sample = _from_example(f"{namespace}.{name}".lstrip("."), function, oracle)
            if sample is not None:
                yield sample
    setup = "x = jnp.array([[0.5, 1.0, 2.0], [3.0, 4.0, 5.0]])\n"
    for method, arguments in METHODS.items():
        oracle = getattr(jax.numpy.ones((2, 3)), method, None)
        yield described(f"Array.{method}", setup, f"x.{method}({arguments})", oracle)
    for method, arguments in UPDATES.items():
        oracle = getattr(jax.numpy.ones((2, 3)).at[0], method)
        yield described(f"at.{method}", setup, f"x.at[0].{method}({arguments})", oracle)
    for symbol in OPERATORS:
        operand = "int" if symbol in ("&", "|", "^", "<<") else "float"
        operand_setup = f"{setup}x = x.astype({operand})\nf = lambda a, b: a {symbol} b\n"
        yield described(f"operator {symbol}", operand_setup, "f(x, x[0, 0])", lambda a, b: None)
    yield described("index", f"{setup}f = lambda a, i: a[i]\n", "f(x, 0)", lambda a, i: None)
    yield described(
        "at index", f"{setup}f = lambda a, i: a.at[i].set(1)\n", "f(x, 0)", lambda a, i: None
    )


def namespace_of(sample: Sample, library: str) -> dict[str, Any]:
    """The names that the sample's call uses, in one of the libraries, ``plugjax`` or ``jax``."""
    scope: dict[str, Any] = {"np": np}
    exec(f"import {library}, {library}.numpy\njax = {library}\njnp = {library}.numpy", scope)
    exec(re.sub(r"\bplugjax\b", library, sample.setup), scope)
    return scope
