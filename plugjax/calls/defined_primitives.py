"""Primitives that a program defines rule by rule, by assignments, as JAX's programs do.

``Primitive("f").def_impl(...)`` and ``ad.primitive_jvps[f_p] = ...`` keep rules here. The hook ``plugjax_missing_rule`` of
this package's plugin hands them to every registry that has no rule in the cell, so a definition changes no table that is in
use. It may be given before plugins are loaded, and is checked when they are. Invariant: a cell that a plugin fills cannot be
defined here.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import numpy as np

from plugjax.core import registry
from plugjax.core.array import as_array
from plugjax.core.config import config
from plugjax.core.errors import RuleConflictError
from plugjax.core.primitive import Primitive, definitions
from plugjax.core.registry import Registry
from plugjax.core.rules import RuleKind, RuleSet, abstract_eval, impl
from plugjax.core.source_info import Source, user_source

Rule = Callable[..., Any]

# Whether plugins have been loaded. Before, their rules cannot be asked for.
_discovered = False
_rules: dict[tuple[RuleKind[Any], Primitive], Rule] = {}
# Kinds whose absence means something, so that a missing rule is not asked for: registries get such rules like a plugin's.
_OPTIONAL = (
    "dce",
    "effects",
    "expand",
    "linearize",
    "opened",
    "partial_eval",
    "remat",
    "transpose",
)
_PROGRAM = "a program"
optional = RuleSet(_PROGRAM)
# How many of these a registry has been given.
_served: weakref.WeakKeyDictionary[Registry, int] = weakref.WeakKeyDictionary()
# Where the program gave those that are not checked yet.
_unchecked: dict[tuple[RuleKind[Any], Primitive], Source | None] = {}


def define(kind: RuleKind[Any], primitive: Primitive, rule: Rule) -> None:
    """Give a primitive its rule of a kind, or another one in its place.

    Raises:
        RuleConflictError: a plugin has a rule in the cell. Before plugins are loaded, it is raised when they are.
    """
    if _discovered:
        active = registry.active()
        _check_free(active, kind, primitive)
        # A rule that was derived while there was none.
        active.table(kind).pop(primitive, None)
    else:
        _unchecked[kind, primitive] = user_source()
    if kind.name in _OPTIONAL and (kind, primitive) not in _rules:
        optional.define(kind, primitive)(_current(kind, primitive))
        if _discovered:
            active.table(kind)[primitive] = _current(kind, primitive)
    _rules[kind, primitive] = rule


def _serve() -> None:
    """Give the registry in force the optional rules that were defined while another one was."""
    if not _discovered:
        return
    active = registry.active()
    if _served.get(active) != len(optional.rules):
        for rule in optional.rules:
            active.table(rule.kind).setdefault(rule.primitive, rule.function)
        _served[active] = len(optional.rules)


config.listeners.append(_serve)


def _current(kind: RuleKind[Any], primitive: Primitive) -> Rule:
    """A function that calls the rule that is defined when it runs."""
    return lambda *args, **params: _rules[kind, primitive](*args, **params)


def _check_free(
    found: Registry, kind: RuleKind[Any], primitive: Primitive, ending: str = ""
) -> None:
    known = found.rule(kind, primitive)
    if known is not None and known.module != _PROGRAM:
        raise RuleConflictError(
            f"primitive '{primitive.name}' has a {kind.name} rule already ({found.where(kind, primitive)}). "
            f"To displace it, write a plugin with a rule that says replace=True.{ending}"
        )


def defined(kind: RuleKind[Any], primitive: Primitive) -> Rule | None:
    """The rule of a cell as a function that calls what is defined when it runs; ``None`` if nothing is defined."""
    if (kind, primitive) not in _rules:
        return None
    return _current(kind, primitive)


class Definitions(MutableMapping[Primitive, Rule]):
    """The rules of one kind by primitive, to read and to assign.

    Args:
        kind: the kind.
        adopt: from a rule in the caller's form to one of the kind.
        present: the way back.
    """

    def __init__(
        self,
        kind: RuleKind[Any],
        adopt: Callable[[Rule], Rule] = lambda rule: rule,
        present: Callable[[Rule], Rule] = lambda rule: rule,
    ) -> None:
        self._kind = kind
        self._adopt = adopt
        self._present = present

    def __setitem__(self, primitive: Primitive, rule: Rule) -> None:
        define(self._kind, primitive, self._adopt(rule))

    def __getitem__(self, primitive: Primitive) -> Rule:
        found = registry.table(self._kind).find(primitive)
        if found is None:
            raise KeyError(primitive)
        return self._present(found)

    def __delitem__(self, primitive: Primitive) -> None:
        raise TypeError(f"rules are not taken back: {self._kind.name} of {primitive.name}")

    def __iter__(self) -> Iterator[Primitive]:
        rules = registry.table(self._kind)
        return iter({**rules, **{p: None for kind, p in _rules if kind is self._kind}})

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _define_impl(primitive: Primitive, function: Rule) -> None:
    """Evaluate a primitive by a function of arrays; it also runs on the host for backends without a lowering.

    ``functools.partial(apply_primitive, primitive)`` stands for the primitive's lowering, and defines nothing.
    """
    if not (isinstance(function, functools.partial) and function.func is apply_primitive):
        define(impl, primitive, functools.partial(_evaluate, primitive, function))


def _evaluate(_primitive: Primitive, _function: Rule, /, *operands: Any, **params: Any) -> Any:
    """Run a function of arrays as a kernel of NumPy arrays."""
    found = _function(*(as_array(x, _primitive.name) for x in operands), **params)
    if _primitive.multiple_results:
        return [np.asarray(y)[()] for y in found]
    return np.asarray(found)[()]


def apply_primitive(primitive: Primitive, *args: Any, **params: Any) -> Any:
    """Evaluate a primitive on arrays, as ``bind`` does outside of transformations."""
    return primitive.bind(*args, **params)


def set_discovered(found: Registry) -> None:
    """Say that plugins have been loaded, so that their rules can be asked for, and check the rules that were given before.

    Raises:
        RuleConflictError: a plugin has a rule in the cell of one of them. That one is dropped.
    """
    global _discovered
    while _unchecked:
        cell, source = next(iter(_unchecked.items()))
        rule = _rules.pop(cell)
        del _unchecked[cell]
        _check_free(
            found, *cell, f" The program gave its own at {source}, before plugins were loaded."
        )
        _rules[cell] = rule
    _discovered = True


definitions["impl"] = _define_impl
definitions["abstract_eval"] = functools.partial(define, abstract_eval)
