"""Passes that make programs smaller without changing what they compute.

Constant folding computes an equation on scalar literals at once, if its primitive has a ``fold`` rule. Inlining puts the
equations of a call where the call stands (rule kind ``expand``), when the call is small, or stood only for a rule that a
transformation might have wanted. Common subexpressions are computed once: two equations with the same primitive, operands
and parameters, and no effect, are one. Equations that give an operand as it is (a conversion to the dtype it has, a choice
between a value and itself) are dropped, as the primitive's ``same`` rule says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.core import registry
from plugjax.core.config import config
from plugjax.core.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, memoise
from plugjax.core.rules import RuleKind
from plugjax.transforms.expansion import Callee, Kept, expand_rule, expanded
from plugjax.transforms.marks import NO_MARKS, marks_of

# Equations; a call of a larger program is kept, so that backends compile the program once.
INLINE_LIMIT = 8

# Which operand the result is, if it is one as it stands: `(operands, eqn) -> operand or None`.
same_rule: RuleKind[Callable[[Sequence[Atom], JaxprEqn], Atom | None]] = RuleKind(
    "same", "(operands, eqn) -> the operand that the result is, or None"
)

# The value of an equation on scalar literals, or None to leave it; only for primitives whose result is exact everywhere.
fold_rule: RuleKind[Callable[..., Any]] = RuleKind("fold", "(*scalars, **params) -> scalar or None")


def simplify(jaxpr: ClosedJaxpr, *, to_compile: bool = True) -> ClosedJaxpr:
    """Inline trivial calls, fold constants, drop copies, merge common subexpressions; in bodies too. Memoised.

    Args:
        jaxpr: the program.
        to_compile: whether no transformation will see the result: then calls that only transformations have rules for are
            inlined.
    """
    # What a call stands for may depend on the configuration.
    key = ("simplify", to_compile, config.fingerprint)
    found: ClosedJaxpr = memoise(jaxpr, key, lambda: _simplify(jaxpr, to_compile))
    return found


def _simplify(jaxpr: ClosedJaxpr, to_compile: bool) -> ClosedJaxpr:
    inner = jaxpr.jaxpr
    constants: list[tuple[Var, Any]] = list(zip(inner.constvars, jaxpr.consts, strict=True))
    writer = _Writer(constants, to_compile)
    env: dict[Var, Any] = {}
    writer.write(inner, env)
    outvars = [writer.read(v, env) for v in inner.outvars]
    result = Jaxpr([v for v, _ in constants], inner.invars, outvars, writer.eqns, inner.debug_name)
    return ClosedJaxpr(result, [value for _, value in constants])


class _Writer:
    """Writes simplified equations."""

    def __init__(self, constants: list[tuple[Var, Any]], to_compile: bool) -> None:
        self.to_compile = to_compile
        self.expansions = registry.table(expand_rule)
        self.same = registry.table(same_rule)
        self.folding = registry.table(fold_rule)
        self.constants = constants
        self.eqns: list[JaxprEqn] = []
        self.seen: dict[Any, list[Var]] = {}

    @staticmethod
    def read(atom: Any, env: dict[Var, Any]) -> Any:
        return atom if type(atom) is Literal else env.get(atom, atom)

    def write(self, jaxpr: Jaxpr, env: dict[Var, Any], inlined: bool = False) -> None:
        """Write a program's equations.

        Args:
            jaxpr: the program.
            env: what its variables are called here, where that differs.
            inlined: whether the program may be written more than once, and so needs variables of its own each time.
        """
        replaced, seen = env.get, self.seen
        for eqn in jaxpr.eqns:
            primitive = eqn.primitive
            operands = [v if type(v) is Literal else replaced(v, v) for v in eqn.invars]
            expand = self.expansions.get(primitive)
            if expand is not None:
                program = self._called(expand(**eqn.params), eqn)
                if program is not None:
                    self._inline(program, operands, eqn, env)
                    continue
            if primitive.structured:
                params = {k: _simplified(v, self.to_compile) for k, v in eqn.params.items()}
                eqn = eqn.replace(params=params)
            elif (same := self.same.get(primitive)) is not None:
                operand = same(operands, eqn)
                if operand is not None:
                    env[eqn.outvars[0]] = operand
                    continue
            fold = self.folding.get(primitive)
            if fold is not None:
                folded = _folded(fold, eqn, operands)
                if folded is not None:
                    env[eqn.outvars[0]] = folded
                    continue
            outvars = eqn.outvars
            if not eqn.effects:
                key = (primitive, *map(_operand_key, operands), *eqn.params.items())
                if (marks := marks_of(eqn.source)) is not NO_MARKS:
                    key = (*key, marks)
                earlier = seen.get(key)
                if earlier is not None and not any(type(v) is DropVar for v in earlier):
                    env.update(zip(outvars, earlier, strict=True))
                    continue
            if inlined:
                fresh = [type(v)(v.aval) for v in outvars]
                env.update(zip(outvars, fresh, strict=True))
                outvars = fresh
            self.eqns.append(
                JaxprEqn(operands, outvars, primitive, eqn.params, eqn.effects, eqn.source)
            )
            if not eqn.effects:
                seen[key] = outvars

    def _called(self, found: Callee | Kept, eqn: JaxprEqn) -> ClosedJaxpr | None:
        """The program whose equations are to stand in place of a call."""
        if not isinstance(found, Kept):
            return expanded(found, eqn) if self.to_compile else None
        if not found.inline:
            return None
        # Simplified first: what counts is what is left of it.
        called = simplify(expanded(found, eqn), to_compile=self.to_compile)
        return called if len(called.jaxpr.eqns) <= INLINE_LIMIT else None

    def _inline(
        self, called: ClosedJaxpr, operands: list[Any], eqn: JaxprEqn, env: dict[Var, Any]
    ) -> None:
        inner_env: dict[Var, Any] = dict(zip(called.jaxpr.invars, operands, strict=True))
        for var, value in zip(called.jaxpr.constvars, called.consts, strict=True):
            fresh = Var(var.aval)
            self.constants.append((fresh, value))
            inner_env[var] = fresh
        self.write(called.jaxpr, inner_env, inlined=True)
        results = [self.read(v, inner_env) for v in called.jaxpr.outvars]
        env.update(zip(eqn.outvars, results, strict=True))


def _folded(rule: Callable[..., Any], eqn: JaxprEqn, operands: Sequence[Any]) -> Literal | None:
    for v in operands:
        if type(v) is not Literal:
            return None
    with np.errstate(all="ignore"):
        value = rule(*[np.asarray(v.val, v.aval.dtype)[()] for v in operands], **eqn.params)
    return None if value is None else Literal(value, eqn.outvars[0].aval)


def _operand_key(atom: Any) -> Any:
    """What two operands have in common if they are the same: a variable itself, of a literal its aval and bits."""
    if type(atom) is not Literal:
        return atom
    val = atom.val
    # Zeros of either sign are equal, and nans are not: these, and numbers of several parts, are told apart by their bits.
    if isinstance(val, (float, np.floating)) and val and val == val:
        return atom.aval, float(val)
    return atom.aval, np.asarray(val).tobytes()


def _simplified(param: Any, to_compile: bool) -> Any:
    """A parameter with the programs in it simplified."""
    if isinstance(param, ClosedJaxpr):
        return simplify(param, to_compile=to_compile)
    if isinstance(param, tuple) and any(isinstance(v, ClosedJaxpr) for v in param):
        return tuple(_simplified(v, to_compile) for v in param)
    return param
