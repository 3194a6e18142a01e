"""What the arguments of special functions become: floating arrays of one dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.numpy.creation import asarray
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operand,
    convert,
    promote_many_inexact,
    rounded,
)

# JAX compiles these as a whole, and makes Python integers int32 arrays before it looks at them.
_COMPILED = {"bessel_jn", "expi", "expn", "gammasgn", "hyp1f1", "poch", "sici", "zeta"}


def inexact(who: str, *args: ArrayLike) -> list[Any]:
    """The arguments with one inexact dtype, and ranks that lax accepts; Python integers may be of any width."""
    return promote_many_inexact(who, *rounded(*args))


def one_inexact(who: str, x: ArrayLike) -> Any:
    """One argument as an inexact array; a Python integer may be of any width."""
    return inexact(who, x)[0]


def as_arrays(*args: Any) -> list[Any]:
    """Lists and tuples as arrays, for the few functions that JAX gives them to ``asarray``."""
    return [asarray(x) if isinstance(x, (list, tuple)) else x for x in args]


def floating(who: str, *args: ArrayLike) -> list[Any]:
    """The arguments with one floating dtype, and ranks that lax accepts.

    Raises:
        ValueError: one of them is complex.
    """
    found = promote_many_inexact(who, *(args if who in _COMPILED else rounded(*args)))
    if found[0].dtype.kind == "c":
        raise ValueError(f"{who} takes no complex numbers, got {found[0].dtype.name}.")
    return found


def one_floating(who: str, x: ArrayLike) -> Any:
    """One argument as a floating array.

    Raises:
        ValueError: it is complex.
    """
    return floating(who, x)[0]


def float32_or_64(x: ArrayLike, who: str) -> Any:
    """One argument as it is.

    Raises:
        TypeError: neither float32 nor float64.
    """
    found = as_operand(who, x)
    if found.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"x.dtype={found.dtype.name} is not supported by {who}; convert it to float32 or float64."
        )
    return found


def strong(x: Operand) -> Any:
    """``x`` without weak type; NumPy's scalars have none."""
    return x if isinstance(x, np.generic) else convert(x, x.dtype)
