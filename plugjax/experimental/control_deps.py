"""The order of operations for XLA's scheduler: the names of ``jax.experimental.control_deps``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from plugjax.ffi import ffi_call


def control_dep(src: Any, dst: Any) -> None:
    """Have XLA compute ``dst`` after ``src``.

    Args:
        src: an array.
        dst: another one, which ``src`` does not depend on.

    Raises:
        JaxRuntimeError: ``src`` depends on ``dst``; raised when XLA compiles the program.

    Differs from JAX:
        On backends other than XLA it changes nothing.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.control_deps import control_dep
        >>> def f(x):
        ...     y, z = jnp.sin(x), jnp.cos(x)
        ...     control_dep(z, y)
        ...     return y
        >>> "@control_dep" in plugjax.jit(f).lower(1.0).as_text("stablehlo")
        True
    """
    ffi_call("control_dep", (), has_side_effect=True)(src, dst)


def schedule(ops: Sequence[Any]) -> None:
    """Have XLA compute values in the order of the sequence; see :func:`control_dep`.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.control_deps import schedule
        >>> def f(x):
        ...     parts = [jnp.sin(x), jnp.cos(x), jnp.exp(x)]
        ...     schedule(parts)
        ...     return sum(parts)
        >>> plugjax.jit(f).lower(1.0).as_text("stablehlo").count("@control_dep")
        2
    """
    for src, dst in pairwise(ops):
        control_dep(src, dst)


__all__ = ["control_dep", "schedule"]
