"""Calls take the error before their operands and give it before their results.

The error of a function with a derivative of its own is that of the function, also where the rule of the derivative runs in its
place: the rule gives values and tangents, and the function, run once more, the error. Errors have no tangents, and checks in
the rule are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.experimental.checkify.error import from_leaves
from plugjax.experimental.checkify.tracing import CheckedProgram, CheckTrace, discharge, error_check
from plugjax.extend import pytree
from plugjax.extend.calls import (
    UserRule,
    checkpoint_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    jit_p,
)
from plugjax.extend.core import ClosedJaxpr, Primitive, Zero, aval_of, eval_closed, instantiate
from plugjax.extend.errors import CustomJVPException, CustomVJPException
from plugjax.extend.rules import RuleSet
from plugjax.extend.transforms import open_constants, stage

rules = RuleSet(__name__)


def _call(primitive: Primitive) -> None:
    @rules.define(error_check, primitive)
    def _check(checks: CheckTrace, *operands: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
        checked = checks.derive(jaxpr)
        if checked.silent:
            return primitive.bind(*operands, jaxpr=jaxpr, **params)
        outs = primitive.bind(*checks.leaves, *operands, jaxpr=checked.program, **params)
        return checks.receive(outs, checked)


_call(jit_p)
_call(checkpoint_p)


class _Custom:
    """The call of a function with a derivative of its own, with its errors as values.

    Its operands are the leaves of the error, what the function closes over, and the function's own arguments; the user's rules
    know the last alone.

    Attributes:
        checked: the function.
        operands: of the new call.
        errors: number of leaves of the error among the results.
        own: where the function's own arguments start.
    """

    def __init__(self, checks: CheckTrace, callee: Any, args: Sequence[Any], consts: int) -> None:
        program: ClosedJaxpr = callee
        closed: list[Any] = []
        if not isinstance(callee, ClosedJaxpr):
            avals = [aval_of(x) for x in args]
            program, closed = open_constants(stage(callee.run, avals, callee.name))
        leaves = checks.leaves
        self.checked: CheckedProgram = checks.derive(program)
        self.operands = [*leaves, *closed, *args]
        self.errors = sum(len(kind.record_avals) for kind in self.checked.kinds)
        self.own = len(leaves) + len(closed) + consts
        self.closed = slice(len(leaves), self.own)
        self.name = program.jaxpr.debug_name

    def error(self, operands: Sequence[Any]) -> list[Any]:
        """Leaves of the error of the function."""
        outs = eval_closed(self.checked.program, *operands)
        return pytree.leaves(from_leaves(self.checked.kinds, outs[: self.errors], {}))


def _without_checks(rule: UserRule, *args: Any) -> Any:
    """What a user's rule gives; checks in it are dropped."""
    return discharge(rule.run, args, frozenset())[1]


def _zero(x: Any) -> Zero:
    return Zero(aval_of(x).to_tangent_aval())


@rules.define(error_check, custom_jvp_call_p)
def _custom_jvp(checks: CheckTrace, *args: Any, **params: Any) -> list[Any]:
    custom = _Custom(checks, params["call_jaxpr"], args, params["num_consts"])
    if custom.checked.silent:
        return custom_jvp_call_p.bind(*args, **params)
    jvp_jaxpr_fun: UserRule = params["jvp_jaxpr_fun"]
    symbolic_zeros: bool = params["symbolic_zeros"]

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if any(type(t) is not Zero for t in tangents[custom.closed]):
            raise CustomJVPException(custom.name)
        own = list(tangents[custom.own :])
        directions = own if symbolic_zeros else [instantiate(t) for t in own]
        outs, dots = _without_checks(jvp_jaxpr_fun, primals[custom.own :], directions)
        error = custom.error(primals)
        return [*error, *outs], [*map(_zero, error), *dots]

    outs = custom_jvp_call_p.bind(
        *custom.operands,
        call_jaxpr=custom.checked.program,
        jvp_jaxpr_fun=UserRule(rule, f"checkify({jvp_jaxpr_fun})"),
        num_consts=0,
        symbolic_zeros=True,
    )
    return checks.receive(outs, custom.checked)


@rules.define(error_check, custom_vjp_call_p)
def _custom_vjp(checks: CheckTrace, *args: Any, **params: Any) -> list[Any]:
    custom = _Custom(checks, params["call_jaxpr"], args, params["num_consts"])
    if custom.checked.silent:
        return custom_vjp_call_p.bind(*args, **params)
    fwd_jaxpr_thunk: UserRule = params["fwd_jaxpr_thunk"]
    bwd: UserRule = params["bwd"]
    before = [_zero(x) for x in custom.operands[: custom.own]]

    def forward(primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[Any, Any, Any]:
        if any(perturbed[custom.closed]):
            raise CustomVJPException(custom.name)
        own = primals[custom.own :], perturbed[custom.own :]
        outs, residuals, description = _without_checks(fwd_jaxpr_thunk, *own)
        return [*custom.error(primals), *outs], residuals, description

    def backward(description: Any, residuals: Sequence[Any], bars: Sequence[Any]) -> list[Any]:
        own = description, residuals, bars[custom.errors :]
        return [*before, *_without_checks(bwd, *own)]

    outs = custom_vjp_call_p.bind(
        *custom.operands,
        call_jaxpr=custom.checked.program,
        fwd_jaxpr_thunk=UserRule(forward, f"checkify({fwd_jaxpr_thunk})"),
        bwd=UserRule(backward, f"checkify({bwd})"),
        num_consts=0,
        symbolic_zeros=params["symbolic_zeros"],
    )
    return checks.receive(outs, custom.checked)
