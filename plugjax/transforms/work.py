"""How much an equation computes, for estimates of time and cost: a rule kind.

A primitive without a rule reads its operands, computes each element of its results by one operation, and runs the programs in its
parameters once each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from plugjax.core.jaxpr import JaxprEqn
from plugjax.core.rules import RuleKind


class Work(NamedTuple):
    """What an equation does beside reading and writing.

    Attributes:
        products: multiplications of a matrix product.
        convolved: multiplications of a convolution.
        steps: how often it runs its programs; ``None`` if only the values tell.
        one_program: whether it runs one of its programs, and not all of them.
        operations: arithmetic operations, where there is not one for each element of the results.
        transcendental: whether the operations are functions such as ``exp``.
    """

    products: float = 0.0
    convolved: float = 0.0
    steps: int | None = 1
    one_program: bool = False
    operations: float | None = None
    transcendental: bool = False


work_rule: RuleKind[Callable[[JaxprEqn], Work]] = RuleKind("work", "(eqn) -> Work")
