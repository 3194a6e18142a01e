"""Order of effects, as data dependence.

A compiler may run two calls to Python that share no value in any order, or at once. So a program with ordered effects
is rewritten: every such equation takes a *token*, a scalar without meaning, and returns a new one, through calls,
branches and loops. Only Python makes tokens, so no compiler can know that they are equal.

The rule kind ``ordering`` rewrites one equation. Equations without a rule that only call a program are replaced by that
program's equations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import registry
from plugjax.extend.calls import jit_p
from plugjax.extend.core import (
    Atom,
    ClosedJaxpr,
    Effects,
    Jaxpr,
    JaxprEqn,
    Literal,
    ShapedArray,
    Var,
    memoise,
)
from plugjax.extend.dtypes import BOOL, INT32
from plugjax.extend.errors import LoweringError
from plugjax.extend.rules import RuleKind, RuleSet, expand_rule, lowering
from plugjax.extend.transforms import expanded
from plugjax.lax.callback import io_callback_p
from plugjax.lax.control_flow import cond_p, scan_p, while_p
from plugjax.lax.debug_callback import debug_callback_p, debug_print_p
from plugjax.stablehlo.host_call import Token

rules = RuleSet(__name__)

_AVAL = ShapedArray((), INT32)

# (token, new token, eqn) -> equations that take the token and return the new one.
ordering_rule: RuleKind[Callable[[Atom, Var, JaxprEqn], Sequence[JaxprEqn]]] = RuleKind(
    "ordering", "(token, new_token, eqn) -> equations that read token and bind new_token"
)


def with_order(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program with its ordered effects in order; the program itself if it has none."""
    if not is_ordered(jaxpr.effects):
        return jaxpr
    inner = jaxpr.jaxpr
    writer = _Writer(jaxpr, Literal(np.int32(0), _AVAL))
    outvars = writer.write(inner, {})
    made = Jaxpr(
        [v for v, _ in writer.constants], inner.invars, outvars, writer.eqns, inner.debug_name
    )
    return ClosedJaxpr(made, [value for _, value in writer.constants])


def is_ordered(effects: Effects) -> bool:
    """Whether one of the effects is ordered."""
    return any(effect.ordered for effect in effects)


def threaded(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program ``(token, *inputs) -> (token, *outputs)``; memoised."""

    def make() -> ClosedJaxpr:
        inner, first = jaxpr.jaxpr, Token(_AVAL)
        writer = _Writer(jaxpr, first)
        outvars = writer.write(inner, {})
        made = Jaxpr(
            [v for v, _ in writer.constants],
            [first, *inner.invars],
            [writer.token, *outvars],
            writer.eqns,
            inner.debug_name,
        )
        return ClosedJaxpr(made, [value for _, value in writer.constants])

    found: ClosedJaxpr = memoise(jaxpr, "threaded", make)
    return found


class _Writer:
    """Writes equations with a token through those that are ordered."""

    def __init__(self, jaxpr: ClosedJaxpr, token: Atom) -> None:
        self.token = token
        self.eqns: list[JaxprEqn] = []
        self.constants = list(zip(jaxpr.jaxpr.constvars, jaxpr.consts, strict=True))
        self.rules = registry.table(ordering_rule)
        self.expansions = registry.table(expand_rule)
        self.lowerings = registry.table(lowering)

    def write(self, jaxpr: Jaxpr, env: dict[Var, Any]) -> list[Any]:
        """Write the equations of a program, with variables renamed by ``env``; returns its outputs."""

        def read(atom: Any) -> Any:
            return atom if type(atom) is Literal else env.get(atom, atom)

        for eqn in jaxpr.eqns:
            if env:
                eqn = eqn.replace(invars=[read(v) for v in eqn.invars])
            if not is_ordered(eqn.effects):
                self.eqns.append(eqn)
                continue
            rule = self.rules.get(eqn.primitive) or self._default(eqn)
            if rule is not None:
                new = Token(_AVAL)
                self.eqns.extend(rule(self.token, new, eqn))
                self.token = new
            elif not eqn.primitive.structured:
                # The primitive's lowering must order the effect itself.
                self.eqns.append(eqn)
            else:
                self._inline(eqn, env)
        return [read(v) for v in jaxpr.outvars]

    def _default(self, eqn: JaxprEqn) -> Callable[[Atom, Var, JaxprEqn], Sequence[JaxprEqn]] | None:
        calls_python = not eqn.primitive.structured and self.lowerings.find(eqn.primitive) is None
        return _prefixed if calls_python else None

    def _inline(self, eqn: JaxprEqn, env: dict[Var, Any]) -> None:
        rule = self.expansions.get(eqn.primitive)
        if rule is None:
            raise LoweringError(
                f"primitive '{eqn.primitive.name}' holds a program with ordered effects "
                f"({', '.join(map(repr, eqn.effects))}), and nothing says how to keep their order. Supply "
                f"@rules.define(ordering_rule, {eqn.primitive.name}_p), or use callbacks with ordered=False."
            )
        called = _renamed(expanded(rule(**eqn.params), eqn))
        self.constants.extend(zip(called.jaxpr.constvars, called.consts, strict=True))
        inner: dict[Var, Any] = dict(zip(called.jaxpr.invars, eqn.invars, strict=True))
        env.update(zip(eqn.outvars, self.write(called.jaxpr, inner), strict=True))


def _renamed(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program with fresh variables; a program that is inlined twice must bind different ones."""
    inner = jaxpr.jaxpr
    env: dict[Any, Any] = {v: Var(v.aval) for v in (*inner.constvars, *inner.invars)}

    def read(atom: Any) -> Any:
        return atom if type(atom) is Literal else env[atom]

    eqns = []
    for eqn in inner.eqns:
        invars = [read(v) for v in eqn.invars]
        env.update((v, type(v)(v.aval)) for v in eqn.outvars)
        eqns.append(eqn.replace(invars=invars, outvars=[env[v] for v in eqn.outvars]))
    made = Jaxpr(
        [env[v] for v in inner.constvars],
        [env[v] for v in inner.invars],
        [read(v) for v in inner.outvars],
        eqns,
        inner.debug_name,
    )
    return ClosedJaxpr(made, jaxpr.consts)


@rules.define(ordering_rule, io_callback_p, debug_callback_p, debug_print_p)
def _prefixed(token: Atom, new: Var, eqn: JaxprEqn) -> list[JaxprEqn]:
    return [eqn.replace(invars=[token, *eqn.invars], outvars=[new, *eqn.outvars])]


@rules.define(ordering_rule, jit_p)
def _jit(token: Atom, new: Var, eqn: JaxprEqn) -> list[JaxprEqn]:
    params = {**eqn.params, "jaxpr": threaded(eqn.params["jaxpr"])}
    return [eqn.replace(invars=[token, *eqn.invars], outvars=[new, *eqn.outvars], params=params)]


@rules.define(ordering_rule, cond_p)
def _cond(token: Atom, new: Var, eqn: JaxprEqn) -> list[JaxprEqn]:
    index, *operands = eqn.invars
    params = {**eqn.params, "branches": tuple(map(threaded, eqn.params["branches"]))}
    return [
        eqn.replace(invars=[index, token, *operands], outvars=[new, *eqn.outvars], params=params)
    ]


def _token_at(jaxpr: ClosedJaxpr, position: int) -> ClosedJaxpr:
    """A threaded program whose token comes after ``position`` other inputs, as the first carry of a loop."""

    def make() -> ClosedJaxpr:
        inner = jaxpr.jaxpr
        token, *rest = inner.invars
        invars = [*rest[:position], token, *rest[position:]]
        moved = Jaxpr(inner.constvars, invars, inner.outvars, inner.eqns, inner.debug_name)
        return ClosedJaxpr(moved, jaxpr.consts)

    found: ClosedJaxpr = memoise(jaxpr, ("token at", position), make)
    return found


@rules.define(ordering_rule, scan_p)
def _scan(token: Atom, new: Var, eqn: JaxprEqn) -> list[JaxprEqn]:
    consts = eqn.params["num_consts"]
    params = {
        **eqn.params,
        "jaxpr": _token_at(threaded(eqn.params["jaxpr"]), consts),
        "num_carry": eqn.params["num_carry"] + 1,
    }
    invars = [*eqn.invars[:consts], token, *eqn.invars[consts:]]
    return [eqn.replace(invars=invars, outvars=[new, *eqn.outvars], params=params)]


@rules.define(ordering_rule, while_p)
def _while(token: Atom, new: Var, eqn: JaxprEqn) -> list[JaxprEqn]:
    cond, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    if is_ordered(cond.effects):
        return _while_of_ordered_condition(token, new, eqn)
    split = eqn.params["cond_nconsts"] + eqn.params["body_nconsts"]
    params = {
        **eqn.params,
        "cond_jaxpr": _token_at(threaded(cond), eqn.params["cond_nconsts"]),
        "body_jaxpr": _token_at(threaded(body), eqn.params["body_nconsts"]),
    }
    params["cond_jaxpr"] = _last_output(params["cond_jaxpr"])
    invars = [*eqn.invars[:split], token, *eqn.invars[split:]]
    return [eqn.replace(invars=invars, outvars=[new, *eqn.outvars], params=params)]


def _last_output(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program with its last output alone."""
    inner = jaxpr.jaxpr
    made = Jaxpr(inner.constvars, inner.invars, inner.outvars[-1:], inner.eqns, inner.debug_name)
    return ClosedJaxpr(made, jaxpr.consts)


def _while_of_ordered_condition(token: Atom, new: Var, eqn: JaxprEqn) -> list[JaxprEqn]:
    # A condition cannot return a token. It is evaluated before the loop and at the end of each
    # step, and its result is the first carry.
    cond, body = threaded(eqn.params["cond_jaxpr"]), threaded(eqn.params["body_jaxpr"])
    n_cond, n_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    consts, init = eqn.invars[: n_cond + n_body], eqn.invars[n_cond + n_body :]

    def call(jaxpr: ClosedJaxpr, invars: list[Any]) -> JaxprEqn:
        outvars = [
            type(v)(v.aval) if type(v) is Token else Var(v.aval) for v in jaxpr.jaxpr.outvars
        ]
        params = {"jaxpr": jaxpr, "name": "while_loop"}
        return JaxprEqn(invars, outvars, jit_p, params, jaxpr.effects, eqn.source)

    asked = call(cond, [token, *consts[:n_cond], *init])
    fixed = [Var(v.aval) for v in consts]
    carry = [Var(BOOL_AVAL), Token(_AVAL), *(Var(v.aval) for v in init)]
    step = call(body, [carry[1], *fixed[n_cond:], *carry[2:]])
    again = call(cond, [step.outvars[0], *fixed[:n_cond], *step.outvars[1:]])
    outs = [again.outvars[1], again.outvars[0], *step.outvars[1:]]
    stepping = ClosedJaxpr(Jaxpr([], [*fixed, *carry], outs, [step, again], "while_loop body"))
    seen = [Var(v.aval) for v in carry]
    going_on = ClosedJaxpr(Jaxpr([], seen, seen[:1], [], "while_loop condition"))
    loop = eqn.replace(
        invars=[*consts, asked.outvars[1], asked.outvars[0], *init],
        outvars=[Var(BOOL_AVAL), new, *eqn.outvars],
        params={
            "cond_jaxpr": going_on,
            "body_jaxpr": stepping,
            "cond_nconsts": 0,
            "body_nconsts": len(consts),
        },
    )
    return [asked, loop]


BOOL_AVAL = ShapedArray((), BOOL)
