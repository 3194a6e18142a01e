"""Passes that make programs smaller without changing what they compute.

Constant folding computes an equation on scalar literals at once, if its primitive has a ``fold`` rule. Inlining puts the
equations of a call where the call stands, when the call is small, or stood only for a rule that a transformation might
have wanted. Common subexpressions are computed once: two equations with the same primitive, operands and parameters, and no effect, are one. Equations that
copy their operand (a conversion to the dtype it has) are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax.core import registry
from plugjax.core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, memoise
from plugjax.core.rules import RuleKind
from plugjax.core.vocabulary import convert_element_type_p

INLINE_LIMIT = (
    8  # equations; a call of a larger program is kept, so that backends compile the program once
)

# Which program an equation calls, if it does nothing else: `jit` and calls of custom rules declare it.
inline_rule: RuleKind[Callable[[JaxprEqn], ClosedJaxpr]] = RuleKind("inline", "(eqn) -> jaxpr")

# What a call with a rule of its own computes, once no transformation will see it: such calls are always inlined.
erase_rule: RuleKind[Callable[[JaxprEqn], ClosedJaxpr]] = RuleKind("erase", "(eqn) -> jaxpr")

# The value of an equation on scalar literals, or None to leave it; only for primitives whose result is exact everywhere.
fold_rule: RuleKind[Callable[..., Any]] = RuleKind("fold", "(*scalars, **params) -> scalar or None")


def simplify(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Inline trivial calls, fold constants, drop copies, merge common subexpressions; in bodies too. Memoised."""
    found: ClosedJaxpr = memoise(jaxpr, "simplify", lambda: _simplify(jaxpr))
    return found


def _simplify(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    inner = jaxpr.jaxpr
    constants: list[tuple[Var, Any]] = list(zip(inner.constvars, jaxpr.consts, strict=True))
    writer = _Writer(constants)
    env: dict[Var, Any] = {}
    writer.write(inner, env)
    outvars = [writer.read(v, env) for v in inner.outvars]
    result = Jaxpr([v for v, _ in constants], inner.invars, outvars, writer.eqns, inner.debug_name)
    return ClosedJaxpr(result, [value for _, value in constants])


class _Writer:
    """Writes simplified equations."""

    def __init__(self, constants: list[tuple[Var, Any]]) -> None:
        self.erasing = registry.table(erase_rule)
        self.inlining = registry.table(inline_rule)
        self.folding = registry.table(fold_rule)
        self.constants = constants
        self.eqns: list[JaxprEqn] = []
        self.seen: dict[Any, list[Var]] = {}

    @staticmethod
    def read(atom: Any, env: dict[Var, Any]) -> Any:
        return atom if type(atom) is Literal else env.get(atom, atom)

    def write(self, jaxpr: Jaxpr, env: dict[Var, Any]) -> None:
        for eqn in jaxpr.eqns:
            operands = [self.read(v, env) for v in eqn.invars]
            if eqn.primitive.structured:
                erase = self.erasing.get(eqn.primitive)
                if erase is not None:
                    self._inline(erase(eqn), operands, eqn, env)
                    continue
                eqn = eqn.replace(params={k: _simplified(v) for k, v in eqn.params.items()})
            rule = self.inlining.get(eqn.primitive)
            if rule is not None:
                called = rule(eqn)
                if len(called.jaxpr.eqns) <= INLINE_LIMIT:
                    self._inline(called, operands, eqn, env)
                    continue
            if eqn.primitive is convert_element_type_p and _is_copy(operands[0], eqn):
                env[eqn.outvars[0]] = operands[0]
                continue
            folded = self._fold(eqn, operands)
            if folded is not None:
                env[eqn.outvars[0]] = folded
                continue
            key = None if eqn.effects else self._key(eqn, operands)
            earlier = self.seen.get(key) if key is not None else None
            if earlier is not None:
                for var, value in zip(eqn.outvars, earlier, strict=True):
                    if type(value) is DropVar:
                        break
                    env[var] = value
                else:
                    continue
            # Fresh variables: a program that is inlined twice binds its own twice.
            outvars = [type(v)(v.aval) for v in eqn.outvars]
            env.update(zip(eqn.outvars, outvars, strict=True))
            self.eqns.append(eqn.replace(invars=operands, outvars=outvars))
            if key is not None:
                self.seen[key] = outvars

    def _inline(
        self, called: ClosedJaxpr, operands: list[Any], eqn: JaxprEqn, env: dict[Var, Any]
    ) -> None:
        inner_env: dict[Var, Any] = dict(zip(called.jaxpr.invars, operands, strict=True))
        for var, value in zip(called.jaxpr.constvars, called.consts, strict=True):
            fresh = Var(var.aval)
            self.constants.append((fresh, value))
            inner_env[var] = fresh
        self.write(called.jaxpr, inner_env)
        results = [self.read(v, inner_env) for v in called.jaxpr.outvars]
        env.update(zip(eqn.outvars, results, strict=True))

    def _fold(self, eqn: JaxprEqn, operands: list[Any]) -> Literal | None:
        rule = self.folding.get(eqn.primitive)
        if rule is None or not all(type(v) is Literal for v in operands):
            return None
        with np.errstate(all="ignore"):
            value = rule(*[np.asarray(v.val, v.aval.dtype)[()] for v in operands], **eqn.params)
        return None if value is None else Literal(value, eqn.outvars[0].aval)

    @staticmethod
    def _key(eqn: JaxprEqn, operands: list[Any]) -> Any:
        atoms = tuple(
            (v.aval, np.asarray(v.val).tobytes()) if type(v) is Literal else v for v in operands
        )
        return (eqn.primitive, atoms, tuple(sorted(eqn.params.items(), key=lambda item: item[0])))


def _simplified(param: Any) -> Any:
    """A parameter with the programs in it simplified."""
    if isinstance(param, ClosedJaxpr):
        return simplify(param)
    if isinstance(param, tuple) and any(isinstance(v, ClosedJaxpr) for v in param):
        return tuple(_simplified(v) for v in param)
    return param


def _is_copy(operand: Any, eqn: JaxprEqn) -> bool:
    out = eqn.outvars[0].aval
    return bool(operand.aval.shape == out.shape and operand.aval.dtype == out.dtype)
