"""How much an equation computes, for estimates of time.

A primitive without a rule reads its operands and writes its results, and runs the programs in its parameters once each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from plugjax import lax
from plugjax.extend.core import JaxprEqn
from plugjax.extend.rules import RuleKind, RuleSet


class Work(NamedTuple):
    """What an equation does beside reading and writing.

    Attributes:
        products: multiplications of a matrix product.
        convolved: multiplications of a convolution.
        steps: how often it runs its programs; ``None`` if only the values tell.
        one_program: whether it runs one of its programs, and not all of them.
    """

    products: float = 0.0
    convolved: float = 0.0
    steps: int | None = 1
    one_program: bool = False


work_rule: RuleKind[Callable[[JaxprEqn], Work]] = RuleKind("work", "(eqn) -> Work")
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
