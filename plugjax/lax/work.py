"""How much the primitives of lax compute, for estimates of time and cost."""

from __future__ import annotations

import math
from typing import Any

from plugjax import lax
from plugjax.extend.core import JaxprEqn
from plugjax.extend.rules import RuleSet, Work, work_rule

rules = RuleSet(__name__)


@rules.define(work_rule, lax.dot_general_p)
def _dot_general(eqn: JaxprEqn) -> Work:
    lhs, rhs = (v.aval.size for v in eqn.invars)
    return Work(products=math.sqrt(float(lhs) * rhs * eqn.outvars[0].aval.size))


@rules.define(work_rule, lax.conv_general_dilated_p)
def _convolution(eqn: JaxprEqn) -> Work:
    kernel = eqn.invars[1].aval
    features = kernel.shape[eqn.params["dimension_numbers"].rhs_spec[0]]
    return Work(convolved=eqn.outvars[0].aval.size * kernel.size / max(1, features))


@rules.define(work_rule, lax.scan_p)
def _scan(eqn: JaxprEqn) -> Work:
    return Work(steps=int(eqn.params["length"]))


@rules.define(work_rule, lax.while_p)
def _while(eqn: JaxprEqn) -> Work:
    return Work(steps=None)


@rules.define(work_rule, lax.cond_p)
def _cond(eqn: JaxprEqn) -> Work:
    return Work(one_program=True)


# One function such as `exp` for each element.
_TRANSCENDENTAL = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "digamma", "erf", "erf_inv", "erfc", "exp", "exp2",
    "expm1", "lgamma", "log", "log1p", "logistic", "pow", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
# Elements are moved, and not computed.
_MOVING = (
    "bitcast_convert_type", "broadcast_in_dim", "concatenate", "copy", "dynamic_slice", "dynamic_update_slice", "gather", "iota", "pad",
    "reshape", "rev", "scatter", "select_n", "slice", "split", "squeeze", "transpose",
)  # fmt: skip
_REDUCING = (
    "argmax",
    "argmin",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
)


def _transcendental(eqn: JaxprEqn) -> Work:
    return Work(operations=eqn.outvars[0].aval.size, transcendental=True)


def _moving(_: JaxprEqn) -> Work:
    return Work(operations=0)


def _reducing(eqn: JaxprEqn) -> Work:
    return Work(operations=max(0, eqn.invars[0].aval.size - eqn.outvars[0].aval.size))


for _names, _rule in (
    (_TRANSCENDENTAL, _transcendental),
    (_MOVING, _moving),
    (_REDUCING, _reducing),
):
    for _name in _names:
        _primitive: Any = getattr(lax, f"{_name}_p")
        rules.define(work_rule, _primitive)(_rule)
