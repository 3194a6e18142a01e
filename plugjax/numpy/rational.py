"""Greatest common divisors and least common multiples."""

from __future__ import annotations

from typing import Any

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.extend.dtypes import is_integer
from plugjax.numpy.arithmetic import floor_divide
from plugjax.numpy.manipulation import broadcast_arrays
from plugjax.numpy.promotion import ArrayLike, Operand, same_dtype, scalar
from plugjax.numpy.selection import where

__all__ = ["gcd", "lcm"]


def _sizes(who: str, x1: ArrayLike, x2: ArrayLike) -> list[Operand]:
    x, y = same_dtype(who, x1, x2)
    if not is_integer(x.dtype):
        raise ValueError(f"{who} takes integers, got dtype {x.dtype.name}.")
    return [v if dtypes.kind_of(v.dtype) == "u" else abs(v) for v in (x, y)]


def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Greatest common divisor, elementwise, by Euclid's algorithm.

    Raises:
        ValueError: not integers.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.gcd(jnp.array([12, 7]), 18)
        Array([6, 1], dtype=int32)
    """
    x, y = broadcast_arrays(*_sizes("gcd", x1, x2))

    def step(pair: Any) -> Any:
        a, b = pair
        done = b == 0
        return where(done, a, b), where(done, 0, lax.rem(a, where(done, 1, b)))

    found, _ = lax.while_loop(lambda pair: (pair[1] != 0).any(), step, (x, y))
    return found


def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Least common multiple, elementwise.

    Raises:
        ValueError: not integers.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.lcm(jnp.array([4, 6]), 6)
        Array([12,  6], dtype=int32)
    """
    x, y = _sizes("lcm", x1, x2)
    d = gcd(x, y)
    return where(d == 0, scalar(0, d), x * floor_divide(y, where(d == 0, scalar(1, d), d)))
