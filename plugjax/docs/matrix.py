"""The matrix of rules as data: primitives x rule kinds x backends, from the registry in force.

A cell says its state, who provides it, why it is empty if it is, and the line of source. States:

* ``native``: a rule for this primitive;
* ``decomposed``: the primitive stands for others (rule kind ``expand``), which have rules;
* ``derived``: made from other rules of the primitive (a jvp from its linearization, a loop for a batch, stored arrays for keys);
* ``host call``: the compiled program calls the host kernel;
* ``absent``: declared to be empty, with the reason;
* ``none``: no rule; the operation never meets this column, or a rule may be supplied.
"""

from __future__ import annotations

import functools
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plugjax.numpy
import plugjax.scipy  # noqa: F401  # their primitives are rows
from plugjax.core.primitive import Primitive
from plugjax.core.registry import Registry, active
from plugjax.core.rules import AbsentRule, Rule, RuleKind, abstract_eval, impl, lowering
from plugjax.docs import sources
from plugjax.experimental.checkify.tracing import error_check
from plugjax.experimental.jet.tracing import taylor
from plugjax.meshes.types import sharding_rule
from plugjax.transforms.batching import batching_rule
from plugjax.transforms.expansion import expand_rule
from plugjax.transforms.jvp import jvp_rule
from plugjax.transforms.linearize import linearize_rule, transpose_rule
from plugjax.transforms.physical import physical_rule
from plugjax.transforms.work import work_rule

STATES = ("native", "decomposed", "derived", "host call", "absent", "none")
# Columns: title, kind, platform.
COLUMNS: tuple[tuple[str, RuleKind[Any], str | None], ...] = (
    ("abstract_eval", abstract_eval, None),
    ("jvp", jvp_rule, None),
    ("linearize", linearize_rule, None),
    ("transpose", transpose_rule, None),
    ("batching", batching_rule, None),
    ("numpy", impl, None),
    ("xla", lowering, "xla"),
    ("iree", lowering, "iree"),
    ("checkify", error_check, None),
    ("jet", taylor, None),
    ("sharding", sharding_rule, None),
)
_COMPILED = ("xla", "iree")


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        state: one of :data:`STATES`.
        provider: the plugin of the rule.
        because: why it is empty, or what it is made from.
        file: the file of the rule's code; empty if there is none.
        line: the line there.
    """

    state: str
    provider: str = ""
    because: str = ""
    file: str = ""
    line: int = 0


def _of_rule(registry: Registry, rule: Rule, platform: str | None) -> Cell:
    provider = registry.where(rule.kind, rule.primitive, platform).partition(":")[0]
    file = getattr(sys.modules.get(rule.module), "__file__", "") or ""
    absent = isinstance(rule.function, AbsentRule)
    because = rule.function.because if isinstance(rule.function, AbsentRule) else ""
    line = _line(rule, file)
    return Cell("absent" if absent else "native", provider, because, file, line)


@functools.cache
def _lines(file: str) -> tuple[str, ...]:
    return tuple(Path(file).read_text(encoding="utf-8").splitlines()) if file else ()


def _line(rule: Rule, file: str) -> int:
    """The line of a rule: its function's; the line that names the primitive, if a helper of another file makes the function."""
    code = getattr(rule.function, "__code__", None)
    if code is not None and code.co_filename == file:
        return int(code.co_firstlineno)
    name = re.compile(rf"\b{re.escape(rule.primitive.name)}_p\b")
    found = [i for i, line in enumerate(_lines(file), 1) if name.search(line)]
    # A line that hands it to a helper comes before others.
    calls = [i for i in found if "rules" in _lines(file)[i - 1]]
    return (calls or found or [1])[0]


class _Derivations:
    """What an empty cell is computed from, by the rules that a primitive has."""

    def __init__(self, registry: Registry, primitive: Primitive) -> None:
        self._registry = registry
        self._primitive = primitive

    def rule(self, kind: RuleKind[Any], platform: str | None = None) -> Rule | None:
        """The rule in another cell of the row."""
        found = self._registry.rule(kind, self._primitive, platform)
        return None if found is None or isinstance(found.function, AbsentRule) else found

    def cell(self, title: str, kind: RuleKind[Any], platform: str | None) -> Cell:
        """The cell."""
        declared = self._registry.rule(kind, self._primitive, platform)
        if declared is not None:
            return _of_rule(self._registry, declared, platform)
        if kind is not abstract_eval and (stands_for := self.rule(expand_rule)):
            return self._from(stands_for, "decomposed", "runs what the primitive stands for")
        if kind in (impl, lowering) and (physical := self.rule(physical_rule)):
            return self._from(physical, "derived", "rewritten to stored arrays")
        if kind is linearize_rule and (jvp := self.rule(jvp_rule)):
            return self._from(jvp, "derived", "from the jvp rule")
        if kind is jvp_rule and (linearize := self.rule(linearize_rule)):
            return self._from(linearize, "derived", "from the linearize rule")
        if title in _COMPILED and (kernel := self.rule(impl)):
            return self._from(kernel, "host call", "the compiled program calls the host kernel")
        return self._derived(kind, platform)

    def _derived(self, kind: RuleKind[Any], platform: str | None) -> Cell:
        if kind not in (abstract_eval, batching_rule):
            return Cell("none")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._registry.table(kind, platform).find(self._primitive)
        return (
            Cell("none")
            if found is None
            else Cell("derived", "", "by the hook plugjax_missing_rule")
        )

    def _from(self, rule: Rule, state: str, because: str) -> Cell:
        cell = _of_rule(self._registry, rule, None)
        return Cell(state, cell.provider, because, cell.file, cell.line)


def _others(registry: Registry) -> list[RuleKind[Any]]:
    """Rule kinds that are no column of :data:`COLUMNS`: those of interpreters that few primitives meet."""
    shown = {kind for _, kind, _ in COLUMNS}
    return sorted({rule.kind for rule in registry.rules()} - shown, key=lambda kind: kind.name)


def rows(registry: Registry | None = None) -> dict[str, dict[str, Cell]]:
    """Cells by primitive and column: those of :data:`COLUMNS`, then the other rule kinds by name."""
    found = registry or active()
    for _, kind, platform in COLUMNS:
        found.table(kind, platform)
    for kind in (expand_rule, physical_rule, work_rule):  # Their rules are lazy too.
        found.table(kind)
    primitives = {rule.primitive for rule in found.rules()}
    others = _others(found)
    return {
        primitive.name: {
            title: _Derivations(found, primitive).cell(title, kind, platform)
            for title, kind, platform in COLUMNS
        }
        | {kind.name: _declared(found, kind, primitive) for kind in others}
        for primitive in sorted(primitives, key=lambda primitive: primitive.name)
    }


def _declared(registry: Registry, kind: RuleKind[Any], primitive: Primitive) -> Cell:
    rule = registry.rule(kind, primitive, None)
    return Cell("none") if rule is None else _of_rule(registry, rule, None)


def data(cells: Mapping[str, Mapping[str, Cell]], root: Path) -> dict[str, Any]:
    """What the page's script reads."""

    def shown(cell: Cell) -> dict[str, str]:
        found = {"state": cell.state, "provider": cell.provider, "because": cell.because}
        if cell.file:
            found["source"] = sources.address(cell.file, cell.line, root)
        return {key: value for key, value in found.items() if value}

    return {
        "columns": list(next(iter(cells.values()))),
        "main": len(COLUMNS),
        "states": list(STATES),
        "rows": [
            {"primitive": name, "cells": [shown(cell) for cell in row.values()]}
            for name, row in cells.items()
        ],
    }


def files(cells: Mapping[str, Mapping[str, Cell]]) -> Iterator[str]:
    """The files that cells are written in."""
    for row in cells.values():
        yield from (cell.file for cell in row.values() if cell.file)
