"""What the arguments of special functions become: floating arrays of one dtype."""

from __future__ import annotations

from typing import Any

from plugjax.numpy.promotion import ArrayLike, promote_many, to_inexact


def floating(who: str, *args: ArrayLike) -> list[Any]:
    """The arguments with one floating dtype, and ranks that lax accepts.

    Raises:
        ValueError: one of them is complex.
    """
    found = [to_inexact(who, x) for x in promote_many(who, *args)]
    if found[0].dtype.kind == "c":
        raise ValueError(f"{who} does not support complex-valued inputs, got {found[0].dtype.name}")
    return found


def one_floating(who: str, x: ArrayLike) -> Any:
    """One argument as a floating array.

    Raises:
        ValueError: it is complex.
    """
    return floating(who, x)[0]
