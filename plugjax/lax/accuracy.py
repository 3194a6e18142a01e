"""JAX's ``accuracy`` argument of elementwise functions.

Hardware with several implementations of a function (TPUs) chooses among them. The devices here have one implementation,
so the argument is checked and changes nothing; XLA does the same on processors and GPUs.
"""

from __future__ import annotations

import enum
from typing import TypeAlias


class AccuracyMode(enum.Enum):
    """The best implementation of a function, or the usual one."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """The tolerated error of a function.

    Args:
        atol: absolute error.
        rtol: relative error.
        ulps: units in the last place.

    Raises:
        ValueError: one is negative, or all are 0.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.exp(jnp.zeros(2), accuracy=lax.Tolerance(rtol=1e-6))
        Array([1., 1.], dtype=float32)
    """

    __slots__ = ("atol", "rtol", "ulps")

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0) -> None:
        if atol < 0 or rtol < 0 or ulps < 0:
            raise ValueError(
                f"lax.Tolerance: bounds cannot be negative, got atol={atol}, rtol={rtol}, ulps={ulps}."
            )
        if not (atol or rtol or ulps):
            raise ValueError("lax.Tolerance: all bounds are 0. Give a positive atol, rtol or ulps.")
        self.atol = atol
        self.rtol = rtol
        self.ulps = ulps

    def __repr__(self) -> str:
        return f"Tolerance(atol={self.atol}, rtol={self.rtol}, ulps={self.ulps})"


Accuracy: TypeAlias = Tolerance | AccuracyMode | None


def check_accuracy(accuracy: Accuracy) -> None:
    """Raise unless ``accuracy`` is an accuracy."""
    if accuracy is not None and not isinstance(accuracy, (Tolerance, AccuracyMode)):
        raise NotImplementedError(
            f"Accuracy {accuracy!r} not supported: give a lax.Tolerance or a lax.AccuracyMode."
        )
