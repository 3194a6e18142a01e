"""How jaxprs print what references do: ``b:f32[] <- a[0]``, ``a[0] <- b``, ``a[0] += b``."""

from __future__ import annotations

from collections.abc import Sequence

from plugjax.extend.core import JaxprEqn
from plugjax.extend.rules import RuleSet, notation_rule
from plugjax.state.indices import shown
from plugjax.state.primitives import addupdate_p, get_p, swap_p

rules = RuleSet(__name__)


@rules.define(notation_rule, get_p)
def _get(eqn: JaxprEqn, results: Sequence[str], operands: Sequence[str]) -> str:
    return f"{results[0]} <- {operands[0]}[{shown(eqn.params['index'], operands[1:])}]"


@rules.define(notation_rule, swap_p)
def _swap(eqn: JaxprEqn, results: Sequence[str], operands: Sequence[str]) -> str:
    place = f"{operands[0]}[{shown(eqn.params['index'], operands[2:])}]"
    if results[0].startswith("_:"):
        return f"{place} <- {operands[1]}"
    return f"{results[0]}, {place} <- {place}, {operands[1]}"


@rules.define(notation_rule, addupdate_p)
def _addupdate(eqn: JaxprEqn, results: Sequence[str], operands: Sequence[str]) -> str:
    return f"{operands[0]}[{shown(eqn.params['index'], operands[2:])}] += {operands[1]}"
