"""Extended dtypes become what they are stored as, before a backend sees a program.

A value of an extended dtype and shape ``[...]`` is stored as a plain array ``[..., *storage_shape]``. The rule kind
``physical`` says what an equation on such values does to the stored arrays; the pass rewrites a program with these rules,
and leaves programs without extended dtypes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from plugjax.core import registry
from plugjax.core.aval import ShapedArray, physical_aval
from plugjax.core.dtypes import ExtendedDType
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, eval_closed, memoise, programs_in
from plugjax.core.primitive import state
from plugjax.core.rules import RuleKind
from plugjax.transforms.expansion import expand_rule, expanded
from plugjax.transforms.staging import stage


class PhysicalRule(Protocol):
    """A primitive on stored arrays in the place of extended ones."""

    def __call__(
        self,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        /,
        *stored: Any,
        **params: Any,
    ) -> Any:
        """The stored result, or a list of them."""


physical_rule: RuleKind[PhysicalRule] = RuleKind(
    "physical", "(in_avals, out_avals, *stored_args, **params) -> stored result, or a list of them"
)


def _is_extended(aval: ShapedArray) -> bool:
    return isinstance(getattr(aval, "dtype", None), ExtendedDType)  # A token has none.


def _mentions_extended(jaxpr: Jaxpr) -> bool:
    if any(_is_extended(v.aval) for v in (*jaxpr.constvars, *jaxpr.invars)):
        return True
    for eqn in jaxpr.eqns:
        if any(_is_extended(v.aval) for v in eqn.outvars):
            return True
        if any(_mentions_extended(sub.jaxpr) for sub in programs_in(eqn.params)):
            return True
    return False


def physicalize(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program on stored values."""
    found: ClosedJaxpr = memoise(jaxpr, "physical", lambda: _physicalize(jaxpr))
    return found


def _physicalize(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    if not _mentions_extended(jaxpr.jaxpr):
        return jaxpr
    avals = [physical_aval(aval) for aval in jaxpr.in_avals]
    found = stage(lambda *args: _interpret(jaxpr, args), avals, jaxpr.jaxpr.debug_name)
    # Rules may use extended dtypes themselves.
    return physicalize(found)


def _interpret(jaxpr: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    inner = jaxpr.jaxpr
    table, expansions = registry.table(physical_rule), registry.table(expand_rule)
    constants = [stored_value(value) for value in jaxpr.consts]
    env: dict[Any, Any] = dict(zip(inner.constvars, constants, strict=True))
    env.update(zip(inner.invars, args, strict=True))
    for eqn in inner.eqns:
        operands = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
        in_avals = [v.aval for v in eqn.invars]
        out_avals = [v.aval for v in eqn.outvars]
        extended = any(_is_extended(a) for a in (*in_avals, *out_avals))
        if extended and not eqn.primitive.structured:
            expand = expansions.get(eqn.primitive)
            callee = expand(**eqn.params) if expand is not None else None
            if callee is not None and table.find(eqn.primitive) is None:
                results = eval_closed(physicalize(expanded(callee, eqn)), *operands)
                env.update(zip(eqn.outvars, results, strict=True))
                continue
            result = table[eqn.primitive](in_avals, out_avals, *operands, **eqn.params)
        else:
            result = state.trace.process(eqn.primitive, operands, _physical_params(eqn.params))
        results = result if eqn.primitive.multiple_results else [result]
        env.update(zip(eqn.outvars, results, strict=True))
    return [v.val if type(v) is Literal else env[v] for v in inner.outvars]


def _physical_params(params: dict[str, Any]) -> dict[str, Any]:
    def convert(value: Any) -> Any:
        if isinstance(value, ClosedJaxpr):
            return physicalize(value)
        if isinstance(value, tuple) and any(isinstance(v, ClosedJaxpr) for v in value):
            return tuple(convert(v) for v in value)
        return value

    return {name: convert(value) for name, value in params.items()}


def stored_value(value: Any) -> Any:
    """A constant as it is stored: the same memory, seen with the plain dtype."""
    aval = getattr(value, "aval", None)
    if aval is not None and _is_extended(aval):
        return value._fetch()
    return value
