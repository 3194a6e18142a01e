"""Reference pages of the public names: a page for each namespace, with a chapter for each file that defines them."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import types
import warnings
from collections.abc import Iterator
from typing import Any

import plugjax.extend
from plugjax.cli import parity
from plugjax.docs import docstrings, inventories
from plugjax.docs.pages import Page, heading, toctree

# A page with more names than this is divided by the files that define them.
_LARGE = 60


def _import(name: str) -> types.ModuleType | None:
    with warnings.catch_warnings():
        # Importing a deprecated module says so.
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:
            return None


@functools.cache
def namespaces() -> tuple[str, ...]:
    """The modules with public names: those of JAX that exist here, plugjax's own, and ``plugjax.extend``."""
    listed = {*parity.listed(), *parity.listed("others"), "errors", "testing", "visualize"}
    found = {f"plugjax.{name}".rstrip(".") for name in listed}
    own = pkgutil.walk_packages(plugjax.extend.__path__, "plugjax.extend.")
    found |= {"plugjax.extend", *(info.name for info in own)}
    return tuple(sorted(name for name in found if _import(name) is not None and names(name)))


_ABSENT = object()


@functools.cache
def names(namespace: str) -> tuple[str, ...]:
    """The public names of a module, without those of other modules."""
    module = _import(namespace)
    public = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    return tuple(sorted({n for n in public if _value(namespace, n) is not _ABSENT}, key=str.lower))


def _value(namespace: str, name: str) -> Any:
    """The object of a name; absent too if it is a module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = getattr(_import(namespace), name, _ABSENT)
    return _ABSENT if isinstance(value, types.ModuleType) else value


def _signature(value: Any) -> str:
    """The signature in parentheses; empty if Python knows none."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = []
    for parameter in signature.parameters.values():
        default = parameter.default
        if default is not parameter.empty and ("<" in repr(default) or len(repr(default)) > 60):
            parameter = parameter.replace(default=...)
        parameters.append(parameter.replace(annotation=parameter.empty))
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))


def _methods(value: type) -> Iterator[str]:
    for name, member in sorted(vars(value).items()):
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        called = _signature(member) if inspect.isfunction(member) else ""
        # Members keep the docstring's first paragraph only.
        yield f"* **{name}**{docstrings.inline(called)}: {docstrings.first_line(member)}"


def _elsewhere(namespace: str, name: str) -> str:
    """Links to the pages of the same name in JAX and in NumPy."""
    inner = f"{namespace.removeprefix('plugjax.')}.{name}"
    pairs = [("jax", f"jax.{inner}"), ("numpy", inner)]
    found = [inventories.link(*pair) for pair in pairs if pair[1] in inventories.names(pair[0])]
    return f"**Elsewhere**: {', '.join(found)}" if found else ""


def _entry(namespace: str, name: str) -> str:
    """One name: its signature and its docstring."""
    value = _value(namespace, name)
    full = f"{namespace}.{name}"
    elsewhere = _elsewhere(namespace, name)
    if inspect.isclass(value):
        members = "\n".join(_methods(value))
        body = "\n\n".join(
            part
            for part in (
                docstrings.markdown(value),
                members and f"**Members**\n\n{members}",
                elsewhere,
            )
            if part
        )
        return _directive("class", full + _signature(value), body)
    if callable(value):
        body = f"{docstrings.markdown(value)}\n\n{elsewhere}"
        return _directive("function", full + _signature(value), body)
    own = inspect.getdoc(value) if inspect.getdoc(value) != inspect.getdoc(type(value)) else None
    body = docstrings.markdown(value) if own else f"`` {_short(value)} ``"
    return _directive("data", full, f"{body}\n\n{elsewhere}")


def _short(value: Any) -> str:
    text = " ".join(repr(value).replace("`", "'").split())
    return text if len(text) < 120 and " at 0x" not in text else type(value).__name__


def _directive(kind: str, signature: str, body: str) -> str:
    return f"::::{{py:{kind}}} {signature}\n\n{body}\n::::"


def _file(value: Any) -> str:
    module = getattr(inspect.unwrap(value) if callable(value) else value, "__module__", None) or ""
    return module.rpartition(".")[2] if module.startswith("plugjax") else "others"


def _summary(namespace: str, listed: list[str]) -> str:
    rows = []
    for name in listed:
        line = docstrings.first_line(_value(namespace, name)) or "\\-"
        rows.append(f"* {{py:obj}}`{name} <{namespace}.{name}>`: {line}")
    return "\n".join(rows)


def _page(path: str, title: str, namespace: str, listed: list[str]) -> Page:
    entries = "\n\n".join(_entry(namespace, name) for name in listed)
    return Page(path, f"{heading(title)}\n\n{_summary(namespace, listed)}\n\n{entries}\n")


def pages() -> Iterator[Page]:
    """An index, and the pages of all namespaces."""
    index = []
    for namespace in namespaces():
        path = f"reference/names/{namespace}"
        index.append(namespace)
        listed = list(names(namespace))
        module = _import(namespace)
        if len(listed) <= _LARGE:
            yield _page(path, namespace, namespace, listed)
            continue
        by_file: dict[str, list[str]] = {}
        for name in listed:
            by_file.setdefault(_file(_value(namespace, name)), []).append(name)
        for file, part in sorted(by_file.items()):
            yield _page(f"{path}-{file}", f"{namespace}: {file}", namespace, part)
        parts = toctree([f"{namespace}-{file}" for file in sorted(by_file)])
        summary = _summary(namespace, listed)
        yield Page(
            path,
            f"{heading(namespace)}\n\n{docstrings.first_line(module)}\n\n{parts}\n\n{summary}\n",
        )
    count = sum(len(names(namespace)) for namespace in namespaces())
    text = f"{count} public names in {len(index)} modules, with signature, docstring and example."
    yield Page(
        "reference/names/index", f"{heading('Public names')}\n\n{text}\n\n{toctree(index)}\n"
    )
