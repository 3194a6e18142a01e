"""Printing of jaxprs, in JAX's form.

A program that appears several times as a parameter, or is long, is printed once, before all else, as ``let name = {...} in``. A primitive whose parameters repeat what its results' types say leaves them out by
a rule of the kind ``printed``.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
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
# Equations of a program that is printed before what it is part of.
_LONG = 10


class VariableNames:
    """Names variables ``a``, ``b`` ... ``z``, ``ba`` ... in the order in which they are met, and ``_`` if nothing reads them.

    Args:
        sources: whether the user's line stands after each equation.
        shared: names of programs that are printed elsewhere, and by name within equations.
    """

    def __init__(self, sources: bool = False, shared: Mapping[Jaxpr, str] | None = None) -> None:
        self.sources = sources
        self.shared = {} if shared is None else shared
        self.names: dict[Var, str] = {}
        self.counter = itertools.count()
        self.unread: set[Var] = set()

    def enter(self, jaxpr: Jaxpr) -> None:
        """Find the results in a program that nothing reads."""
        read = {v for eqn in jaxpr.eqns for v in eqn.invars if type(v) is not Literal}
        read.update(v for v in jaxpr.outvars if type(v) is not Literal)
        self.unread.update(v for eqn in jaxpr.eqns for v in eqn.outvars if v not in read)

    def __call__(self, var: Var) -> str:
        """The name of a variable; a new one, if it has none yet."""
        if isinstance(var, DropVar) or var in self.unread:
            return "_"
        name = self.names.get(var)
        if name is None:
            fresh = map(_letters, self.counter)
            name = self.names[var] = next(n for n in fresh if n not in self.shared.values())
        return name


def _letters(number: int) -> str:
    name = ""
    while True:
        number, digit = divmod(number, 26)
        name = chr(ord("a") + digit) + name
        if not number:
            return name


def print_jaxpr(jaxpr: Jaxpr, sources: bool = False) -> str:
    """The program as text; with ``sources``, the user's line after each equation."""
    names = VariableNames(sources, shared_programs(jaxpr))
    lets = "".join(
        f"let {name} = {_program(inner, names, 0, len(name) + 7)} in\n"
        for inner, name in names.shared.items()
    )
    return lets + _program(jaxpr, names, 0)


def shared_programs(jaxpr: Jaxpr) -> dict[Jaxpr, str]:
    """Programs within a program that are printed before it, with their names: that of an equation that holds them."""
    counts: Counter[Jaxpr] = Counter()
    names: dict[Jaxpr, str] = {}
    waiting = deque(_inner(jaxpr, names))
    while waiting:
        found = waiting.popleft()
        counts[found] += 2 if len(found.eqns) > _LONG else 1
        waiting += _inner(found, names)
    uses: Counter[str] = Counter()
    shared = {}
    for found, count in counts.items():
        if count > 1:
            name = names.get(found, "jaxpr")
            number = uses[name]
            uses[name] += 1
            if number:
                name = f"{name}{number}"
                uses[name] += 1
            shared[found] = name
    return shared


def _inner(jaxpr: Jaxpr, names: dict[Jaxpr, str]) -> list[Jaxpr]:
    found = []
    for eqn in jaxpr.eqns:
        inner = [p.jaxpr if isinstance(p, ClosedJaxpr) else p for p in _programs(eqn)]
        if "name" in eqn.params:
            for program in inner:
                names.setdefault(program, str(eqn.params["name"]).strip("<>"))
        found += inner
    return found


def _programs(eqn: JaxprEqn) -> Iterator[Jaxpr | ClosedJaxpr]:
    for value in eqn.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, (Jaxpr, ClosedJaxpr)):
                yield item


def _binders(variables: list[Var], names: VariableNames) -> str:
    return " ".join(f"{names(v)}:{v.aval.str_short(True)}" for v in variables)


def _atom(atom: Atom, names: VariableNames) -> str:
    if isinstance(atom, Literal):
        return f"{_scalar(atom.val)}:{atom.aval.str_short(True)}"
    return names(atom)


def _scalar(value: Any) -> str:
    array = np.asarray(value)
    return str(array.item() if array.dtype.kind in "biufcV" and not array.ndim else value)


def _jaxpr(jaxpr: Jaxpr, names: VariableNames, indent: int, before: int = 0) -> str:
    """The program, or its name."""
    return names.shared.get(jaxpr) or _program(jaxpr, names, indent, before)


def _program(jaxpr: Jaxpr, names: VariableNames, indent: int, before: int = 0) -> str:
    """The program; on one line if that ends at column 80 or before, where ``before`` characters stand on it already."""
    pad = " " * indent
    names.enter(jaxpr)
    consts = _binders(jaxpr.constvars, names)
    head = f"{{ lambda {consts}; {_binders(jaxpr.invars, names)}. let"
    eqns = [print_equation(eqn, names, indent + 4) for eqn in jaxpr.eqns]
    outs = ", ".join(_atom(v, names) for v in jaxpr.outvars)
    tail = f"in ({outs}{',' if len(jaxpr.outvars) == 1 else ''}) }}"
    if names.sources:
        eqns = [f"{text} # {e.source}" for text, e in zip(eqns, jaxpr.eqns, strict=True)]
    flat = f"{head} {'; '.join(e.strip() for e in eqns)} {tail}"
    if not (names.sources and eqns) and "\n" not in flat and len(flat) + indent + before <= _WIDTH:
        return flat
    body = "".join(f"\n{pad}    {eqn.strip()}" for eqn in eqns)
    return f"{head}{body}\n{pad}  {tail}"


def print_equation(eqn: JaxprEqn, names: VariableNames, indent: int) -> str:
    """One equation as it stands in a program."""
    results = [f"{names(v)}:{v.aval.str_short(True)}" for v in eqn.outvars]
    notation = registry.table(notation_rule).get(eqn.primitive)
    if notation is not None:
        found: str = notation(eqn, results, [_atom(v, names) for v in eqn.invars])
        return found
    left = f"{' '.join(results)}{' = ' if results else ''}{eqn.primitive.name}"
    params = _params(eqn, names, indent, len(left))
    operands = "".join(f" {_atom(v, names)}" for v in eqn.invars)
    return f"{left}{params}{operands}"


def _shown(eqn: JaxprEqn) -> dict[str, Any]:
    """The parameters that are printed, in order."""
    rule = registry.table(printed_rule).get(eqn.primitive)
    params = dict(sorted((eqn.params if rule is None else rule(**eqn.params)).items()))
    if "name" in params:
        params = {"name": params.pop("name"), **params}
    return params


def _params(eqn: JaxprEqn, names: VariableNames, indent: int, before: int) -> str:
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


def _value(value: Any, names: VariableNames, indent: int, before: int = 0) -> str:
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
