"""Printing of jaxprs, in JAX's form.

A program that appears several times as a parameter is printed once, as ``let name = {...} in``, when it has more than a few
equations; small ones are printed where they stand. A primitive whose parameters repeat what its results' types say leaves them out by
a rule of the kind ``printed``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.core import registry
from plugjax.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
)
from plugjax.core.rules import RuleKind

printed_rule: RuleKind[Callable[..., dict[str, Any]]] = RuleKind(
    "printed", "(**params) -> the parameters that are printed"
)

notation_rule: RuleKind[Callable[[JaxprEqn, Sequence[str], Sequence[str]], str]] = RuleKind(
    "notation",
    "(eqn, results, operands) -> how the equation is printed; results come with their types",
)

_WIDTH = 80


class _Names:
    """Names variables ``a``, ``b`` ... ``z``, ``ba`` ... in the order in which they are met, and ``_`` if nothing reads them."""

    def __init__(self, sources: bool = False) -> None:
        self.sources = sources
        self.names: dict[Var, str] = {}
        self.counter = itertools.count()
        self.unread: set[Var] = set()

    def enter(self, jaxpr: Jaxpr) -> None:
        """Find the results in a program that nothing reads."""
        read = {v for eqn in jaxpr.eqns for v in eqn.invars if type(v) is not Literal}
        read.update(v for v in jaxpr.outvars if type(v) is not Literal)
        self.unread.update(v for eqn in jaxpr.eqns for v in eqn.outvars if v not in read)

    def __call__(self, var: Var) -> str:
        if isinstance(var, DropVar) or var in self.unread:
            return "_"
        name = self.names.get(var)
        if name is None:
            number = next(self.counter)
            name = ""
            while True:
                number, digit = divmod(number, 26)
                name = chr(ord("a") + digit) + name
                if not number:
                    break
            self.names[var] = name
        return name


def print_jaxpr(jaxpr: Jaxpr, sources: bool = False) -> str:
    """The program as text; with ``sources``, the user's line after each equation."""
    return _jaxpr(jaxpr, _Names(sources), 0)


def _binders(variables: list[Var], names: _Names) -> str:
    return " ".join(f"{names(v)}:{v.aval.str_short(True)}" for v in variables)


def _atom(atom: Atom, names: _Names) -> str:
    if isinstance(atom, Literal):
        return f"{_scalar(atom.val)}:{atom.aval.str_short(True)}"
    return names(atom)


def _scalar(value: Any) -> str:
    array = np.asarray(value)
    return str(array.item()) if array.dtype.kind in "biufc" else str(value)


def _jaxpr(jaxpr: Jaxpr, names: _Names, indent: int, before: int = 0) -> str:
    """The program; on one line if that ends at column 80 or before, where ``before`` characters stand on it already."""
    pad = " " * indent
    names.enter(jaxpr)
    consts = _binders(jaxpr.constvars, names)
    head = f"{{ lambda {consts}; {_binders(jaxpr.invars, names)}. let"
    eqns = [_eqn(eqn, names, indent + 4) for eqn in jaxpr.eqns]
    outs = ", ".join(_atom(v, names) for v in jaxpr.outvars)
    tail = f"in ({outs}{',' if len(jaxpr.outvars) == 1 else ''}) }}"
    if names.sources:
        eqns = [f"{text} # {e.source}" for text, e in zip(eqns, jaxpr.eqns, strict=True)]
    flat = f"{head} {'; '.join(e.strip() for e in eqns)} {tail}"
    if not (names.sources and eqns) and "\n" not in flat and len(flat) + indent + before <= _WIDTH:
        return flat
    body = "".join(f"\n{pad}    {eqn.strip()}" for eqn in eqns)
    return f"{head}{body}\n{pad}  {tail}"


def _eqn(eqn: JaxprEqn, names: _Names, indent: int) -> str:
    results = [f"{names(v)}:{v.aval.str_short(True)}" for v in eqn.outvars]
    notation = registry.table(notation_rule).get(eqn.primitive)
    if notation is not None:
        found: str = notation(eqn, results, [_atom(v, names) for v in eqn.invars])
        return found
    left = " ".join(results)
    head = f"{left}{' = ' if left else ''}{eqn.primitive.name}"
    params = _params(eqn, names, indent, len(head))
    operands = "".join(f" {_atom(v, names)}" for v in eqn.invars)
    return f"{head}{params}{operands}"


def _shown(eqn: JaxprEqn) -> dict[str, Any]:
    """The parameters that are printed, in order."""
    rule = registry.table(printed_rule).get(eqn.primitive)
    params = dict(sorted((eqn.params if rule is None else rule(**eqn.params)).items()))
    if "name" in params:
        params = {"name": params.pop("name"), **params}
    return params


def _params(eqn: JaxprEqn, names: _Names, indent: int, before: int) -> str:
    texts = [
        f"{key}={_value(value, names, indent + 2, len(key) + 1)}"
        for key, value in _shown(eqn).items()
    ]
    if not texts:
        return ""
    flat = f"[{' '.join(texts)}]"
    if "\n" not in flat and len(flat) + indent + before <= _WIDTH:
        return flat
    pad = " " * indent
    return "[" + "".join(f"\n{pad}  {text}" for text in texts) + f"\n{pad}]"


def _value(value: Any, names: _Names, indent: int, before: int = 0) -> str:
    if isinstance(value, ClosedJaxpr):
        return _jaxpr(value.jaxpr, names, indent, before)
    if isinstance(value, Jaxpr):
        return _jaxpr(value, names, indent, before)
    if isinstance(value, tuple) and any(isinstance(v, ClosedJaxpr) for v in value):
        pad = " " * indent
        inner = "".join(f"\n{pad}  {_value(v, names, indent + 2)}" for v in value)
        return f"({inner}\n{pad})"
    if isinstance(value, np.dtype):
        return str(value.name)
    return str(value)
