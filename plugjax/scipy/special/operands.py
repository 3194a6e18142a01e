"""Arguments of special functions: coercion to floating arrays of one dtype."""

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


def inexact(who: str, *args: ArrayLike, any_width: bool = True) -> list[Operand]:
    """The arguments with one inexact dtype, and ranks that lax accepts.

    Args:
        who: the function that takes them.
        args: the arguments.
        any_width: whether Python integers may be wider than the default; JAX refuses them where it compiles the function as
            a whole, since it makes arrays of all arguments first.

    Raises:
        TypeError: one of them is no array-like.
        OverflowError: without ``any_width``, a Python integer beyond the default width.
    """
    return promote_many_inexact(who, *(rounded(*args) if any_width else args))


def one_inexact(who: str, x: ArrayLike) -> Operand:
    """One argument as an inexact array; a Python integer may be of any width."""
    return inexact(who, x)[0]


def as_arrays(*args: Any) -> list[Operand]:
    """Convert lists and tuples to arrays, for the few functions that accept them in JAX."""
    return [asarray(x) if isinstance(x, (list, tuple)) else x for x in args]


def floating(who: str, *args: ArrayLike, any_width: bool = True) -> list[Operand]:
    """The arguments with one floating dtype, and ranks that lax accepts; ``any_width`` as of :func:`inexact`.

    Raises:
        ValueError: one of them is complex.
    """
    found = inexact(who, *args, any_width=any_width)
    if found[0].dtype.kind == "c":
        raise ValueError(f"{who} takes no complex numbers, got {found[0].dtype.name}.")
    return found


def one_floating(who: str, x: ArrayLike, any_width: bool = True) -> Operand:
    """One argument as a floating array; ``any_width`` as of :func:`inexact`.

    Raises:
        ValueError: it is complex.
    """
    return floating(who, x, any_width=any_width)[0]


def float32_or_64(x: ArrayLike, who: str) -> Operand:
    """One argument, unchanged.

    Raises:
        TypeError: neither float32 nor float64.
    """
    found = as_operand(who, x)
    if found.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"x.dtype={found.dtype.name} is not supported by {who}; convert it to float32 or float64."
        )
    return found


def strong(x: Operand) -> Operand:
    """``x`` without weak type; NumPy's scalars have none."""
    return x if isinstance(x, np.generic) else convert(x, x.dtype)
