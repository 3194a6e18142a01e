"""Comparison and logical primitives: results are bool, or bits; none has a derivative."""

from __future__ import annotations

from typing import Any

from plugjax.core.dtypes import BOOL
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet
from plugjax.lax.families import (
    ANY,
    BOOL_OR_INTEGER,
    FLOAT,
    INTEGER,
    REAL_OR_BOOL,
    elementwise,
)

rules = RuleSet(__name__)

eq_p = Primitive("eq")
ne_p = Primitive("ne")
ge_p = Primitive("ge")
gt_p = Primitive("gt")
le_p = Primitive("le")
lt_p = Primitive("lt")
is_finite_p = Primitive("is_finite")
not_p = Primitive("not")
and_p = Primitive("and")
or_p = Primitive("or")
xor_p = Primitive("xor")
shift_left_p = Primitive("shift_left")
shift_right_logical_p = Primitive("shift_right_logical")
shift_right_arithmetic_p = Primitive("shift_right_arithmetic")
population_count_p = Primitive("population_count")
clz_p = Primitive("clz")

for _p in (eq_p, ne_p):
    elementwise(rules, _p, accepts=ANY, gives=BOOL, differentiable=False)
for _p in (ge_p, gt_p, le_p, lt_p):
    elementwise(rules, _p, accepts=REAL_OR_BOOL, gives=BOOL, differentiable=False)
elementwise(rules, is_finite_p, accepts=FLOAT, gives=BOOL, differentiable=False)
for _p in (not_p, and_p, or_p, xor_p):
    elementwise(rules, _p, accepts=BOOL_OR_INTEGER, differentiable=False)
for _p in (
    shift_left_p,
    shift_right_logical_p,
    shift_right_arithmetic_p,
    population_count_p,
    clz_p,
):
    elementwise(rules, _p, accepts=INTEGER, differentiable=False)


def eq(x: Any, y: Any, /) -> Any:
    """Elementwise ``x == y``, as bool."""
    return eq_p.bind(x, y)


def ne(x: Any, y: Any, /) -> Any:
    """Elementwise ``x != y``, as bool."""
    return ne_p.bind(x, y)


def ge(x: Any, y: Any, /) -> Any:
    """Elementwise ``x >= y``, as bool; real operands."""
    return ge_p.bind(x, y)


def gt(x: Any, y: Any, /) -> Any:
    """Elementwise ``x > y``, as bool; real operands."""
    return gt_p.bind(x, y)


def le(x: Any, y: Any, /) -> Any:
    """Elementwise ``x <= y``, as bool; real operands."""
    return le_p.bind(x, y)


def lt(x: Any, y: Any, /) -> Any:
    """Elementwise ``x < y``, as bool; real operands."""
    return lt_p.bind(x, y)


def is_finite(x: Any, /) -> Any:
    """Elementwise: neither infinite nor nan."""
    return is_finite_p.bind(x)


def bitwise_not(x: Any, /) -> Any:
    """Elementwise negation of bools, or of the bits of integers."""
    return not_p.bind(x)


def bitwise_and(x: Any, y: Any, /) -> Any:
    """Elementwise conjunction of bools or bits."""
    return and_p.bind(x, y)


def bitwise_or(x: Any, y: Any, /) -> Any:
    """Elementwise disjunction of bools or bits."""
    return or_p.bind(x, y)


def bitwise_xor(x: Any, y: Any, /) -> Any:
    """Elementwise exclusive disjunction of bools or bits."""
    return xor_p.bind(x, y)


def shift_left(x: Any, y: Any, /) -> Any:
    """Elementwise ``x << y``; 0 where ``y`` is not below the number of bits."""
    return shift_left_p.bind(x, y)


def shift_right_logical(x: Any, y: Any, /) -> Any:
    """Elementwise shift to the right that fills with zero bits; 0 where ``y`` is not below the number of bits."""
    return shift_right_logical_p.bind(x, y)


def shift_right_arithmetic(x: Any, y: Any, /) -> Any:
    """Elementwise shift to the right that repeats the sign bit."""
    return shift_right_arithmetic_p.bind(x, y)


def population_count(x: Any, /) -> Any:
    """Elementwise number of bits that are set."""
    return population_count_p.bind(x)


def clz(x: Any, /) -> Any:
    """Elementwise number of leading zero bits."""
    return clz_p.bind(x)
