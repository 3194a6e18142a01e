"""What passes over programs may compute: equations on scalar literals, and equations that give an operand as it is.

A value is folded where every backend would compute the same bits. IEEE arithmetic, comparisons and logic are exact everywhere;
transcendental functions are not, and stay equations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import (
    Atom,
    JaxprEqn,
    Primitive,
    Var,
    convert_element_type_p,
    mul_p,
    select_n_p,
    stop_gradient_p,
)
from plugjax.extend.dtypes import DType
from plugjax.extend.rules import RuleSet, expand_rule, fold_rule, same_rule
from plugjax.lax.arithmetic import add_p, neg_p, sub_p
from plugjax.lax.comparison import and_p, eq_p, ge_p, gt_p, le_p, lt_p, ne_p, not_p, or_p
from plugjax.lax.selection import clamp_p

rules = RuleSet(__name__)

# Small floats are not folded: backends round them at different points.
_EXACT = frozenset(np.dtype(t) for t in ("bool", "int32", "int64", "uint32", "float32", "float64"))


def _define(primitive: Primitive, ufunc: Callable[..., Any]) -> None:
    @rules.define(fold_rule, primitive)
    def _fold(*scalars: Any) -> Any:
        if any(x.dtype not in _EXACT for x in scalars):
            return None
        return ufunc(*scalars)


for _primitive, _ufunc in (
    (add_p, np.add),
    (sub_p, np.subtract),
    (mul_p, np.multiply),
    (neg_p, np.negative),
    (eq_p, np.equal),
    (ne_p, np.not_equal),
    (lt_p, np.less),
    (le_p, np.less_equal),
    (gt_p, np.greater),
    (ge_p, np.greater_equal),
    (and_p, np.bitwise_and),
    (or_p, np.bitwise_or),
    (not_p, np.bitwise_not),
):
    _define(_primitive, _ufunc)


@rules.define(fold_rule, convert_element_type_p)
def _fold_conversion(x: Any, *, new_dtype: DType, weak_type: bool) -> Any:
    if x.dtype not in _EXACT or new_dtype not in _EXACT:
        return None
    converted = x.astype(new_dtype)
    # Values beyond the new dtype are not folded: backends saturate.
    return converted if converted == x else None


@rules.define(fold_rule, clamp_p)
def _fold_clamp(low: Any, x: Any, high: Any) -> Any:
    return np.minimum(np.maximum(x, low), high) if x.dtype.kind in "iu" else None


@rules.define(same_rule, convert_element_type_p)
def _same_dtype(operands: Sequence[Atom], eqn: JaxprEqn) -> Atom | None:
    found, out = operands[0].aval, eqn.outvars[0].aval
    return operands[0] if (found.shape, found.dtype) == (out.shape, out.dtype) else None


@rules.define(same_rule, select_n_p)
def _same_choice(operands: Sequence[Atom], eqn: JaxprEqn) -> Atom | None:
    case, *others = operands[1:]
    return case if type(case) is Var and all(x is case for x in others) else None


@rules.define(expand_rule, stop_gradient_p)
def _nothing_to_differentiate(**_: Any) -> Callable[[Any], list[Any]]:
    return lambda x: [x]
