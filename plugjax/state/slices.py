"""Slices whose start is known when the program runs: ``ref[ds(i, 4)]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Slice:
    """A slice of static size.

    Attributes:
        start: first index; may be traced.
        size: number of elements.
        stride: distance of two elements.
    """

    start: Any
    size: int
    stride: int = 1

    def __post_init__(self) -> None:
        if self.stride < 1:
            raise ValueError(f"Slice: a stride >= 1 is needed, got {self.stride}.")


def ds(start: Any, size: int | None = None, stride: int | None = None) -> Slice:
    """A slice of a reference that starts where an index says, of static size.

    Args:
        start: first index, an integer or a traced scalar; the only argument if it is the size, and the start is 0.
        size: number of elements.
        stride: distance of two elements, 1 by default.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> ref = plugjax.new_ref(jnp.arange(6))
        >>> plugjax.jit(lambda i: ref[plugjax.ds(i, 2)])(3)
        Array([3, 4], dtype=int32)
    """
    if size is None:
        start, size = 0, start
    return Slice(start, int(size), 1 if stride is None else stride)
