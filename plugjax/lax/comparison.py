"""Comparison and logical primitives: results are bool, or bits; none has a derivative."""

from __future__ import annotations

from plugjax.extend.core import Array, ArrayLike, Primitive
from plugjax.extend.dtypes import BOOL
from plugjax.extend.rules import RuleSet
from plugjax.lax.families import (
    ANY_OR_EXTENDED,
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
eq_to_p = Primitive("eq_to")
le_to_p = Primitive("le_to")
lt_to_p = Primitive("lt_to")
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
    elementwise(rules, _p, accepts=ANY_OR_EXTENDED, gives=BOOL, differentiable=False)
# The comparisons in the total order of floats, -nan < -inf < ... < -0 < 0 < ... < inf < nan, have
# no function.
for _p in (ge_p, gt_p, le_p, lt_p, eq_to_p, le_to_p, lt_to_p):
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


def eq(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise ``x == y``, as bool.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.eq(jnp.array([1, 2]), jnp.array([1, 3]))
        Array([ True, False], dtype=bool)
    """
    return eq_p.bind(x, y)


def ne(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise ``x != y``, as bool.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.ne(jnp.array([1, 2]), jnp.array([1, 3]))
        Array([False,  True], dtype=bool)
    """
    return ne_p.bind(x, y)


def ge(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise ``x >= y``, as bool; real operands.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.ge(jnp.array([1, 2]), jnp.array([1, 3]))
        Array([ True, False], dtype=bool)
    """
    return ge_p.bind(x, y)


def gt(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise ``x > y``, as bool; real operands.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.gt(jnp.array([1, 4]), jnp.array([1, 3]))
        Array([False,  True], dtype=bool)
    """
    return gt_p.bind(x, y)


def le(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise ``x <= y``, as bool; real operands.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.le(jnp.array([1, 4]), jnp.array([1, 3]))
        Array([ True, False], dtype=bool)
    """
    return le_p.bind(x, y)


def lt(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise ``x < y``, as bool; real operands.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.lt(jnp.array([1, 2]), jnp.array([1, 3]))
        Array([False,  True], dtype=bool)
    """
    return lt_p.bind(x, y)


def is_finite(x: ArrayLike) -> Array:
    """Elementwise: neither infinite nor nan.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.is_finite(jnp.array([1.0, jnp.inf]))
        Array([ True, False], dtype=bool)
    """
    return is_finite_p.bind(x)


def bitwise_not(x: ArrayLike) -> Array:
    """Elementwise negation of bools, or of the bits of integers.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.bitwise_not(jnp.array([0, 5]))
        Array([-1, -6], dtype=int32)
    """
    return not_p.bind(x)


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise conjunction of bools or bits.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.bitwise_and(jnp.array([6]), jnp.array([3]))
        Array([2], dtype=int32)
    """
    return and_p.bind(x, y)


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise disjunction of bools or bits.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.bitwise_or(jnp.array([6]), jnp.array([3]))
        Array([7], dtype=int32)
    """
    return or_p.bind(x, y)


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise exclusive disjunction of bools or bits.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.bitwise_xor(jnp.array([6]), jnp.array([3]))
        Array([5], dtype=int32)
    """
    return xor_p.bind(x, y)


def shift_left(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise ``x << y``; 0 where ``y`` is not below the number of bits.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.shift_left(jnp.array([1, 3]), jnp.array([2, 1]))
        Array([4, 6], dtype=int32)
    """
    return shift_left_p.bind(x, y)


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise shift to the right that fills with zero bits; 0 where ``y`` is not below the number of bits.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.shift_right_logical(jnp.array([8]), jnp.array([1]))
        Array([4], dtype=int32)
    """
    return shift_right_logical_p.bind(x, y)


def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise shift to the right that repeats the sign bit.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.shift_right_arithmetic(jnp.array([-8]), jnp.array([1]))
        Array([-4], dtype=int32)
    """
    return shift_right_arithmetic_p.bind(x, y)


def population_count(x: ArrayLike) -> Array:
    """Elementwise number of bits that are set.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.population_count(jnp.array([7, 8]))
        Array([3, 1], dtype=int32)
    """
    return population_count_p.bind(x)


def clz(x: ArrayLike) -> Array:
    """Elementwise number of leading zero bits.

    Example:
        >>> from plugjax import lax
        >>> import plugjax.numpy as jnp
        >>> lax.clz(jnp.array([1, 256]))
        Array([31, 23], dtype=int32)
    """
    return clz_p.bind(x)
