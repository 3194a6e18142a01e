"""A row of the op table, and samplers of operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Primitive

Sampler = Callable[[np.random.Generator], tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class Op:
    """One row: a function of a primitive, and the data for its checks.

    Attributes:
        name: name of the row: the primitive's name, and a word for the case if there are several rows.
        primitive: the primitive whose rules it tests.
        call: the name of a function of ``lax``, or a function of ``(lax, *operands)``. Because ``lax`` is an operand,
            the same row runs with plugjax and with JAX.
        oracle: the same in NumPy, computed in the operands' precision or above.
        sample: makes operands.
        order: how often the function can be differentiated; 0 if it has no derivative.
        wrt: operands to differentiate with respect to; all floating ones if left out.
        rtol: tolerance against the oracle.
        batch: operands that can have a batch axis; all by default.
        reverse: whether derivatives can be pulled back.
        without_jax: why the row is not compared with JAX; empty if it is.

    Example:
        >>> import numpy as np
        >>> from plugjax import lax
        >>> from plugjax.testing import Op, check_jvp, check_value, real
        >>> row = Op("sin", lax.sin_p, "sin", np.sin, real(-3, 3), order=2, rtol=1e-5)
        >>> check_value(row)
        >>> check_jvp(row)
    """

    name: str
    primitive: Primitive
    call: str | Callable[..., Any]
    oracle: Callable[..., Any]
    sample: Sampler
    order: int = 0
    wrt: tuple[int, ...] | None = None
    rtol: float = 2e-6
    batch: tuple[int, ...] | None = None
    reverse: bool = True
    without_jax: str = ""

    def under(self, module: Any) -> Callable[..., Any]:
        """The row as a function of its operands, with ``module`` as ``lax``."""
        call = self.call
        if isinstance(call, str):
            found: Callable[..., Any] = getattr(module, call)
            return found
        return lambda *operands: call(module, *operands)

    @property
    def function(self) -> Callable[..., Any]:
        """The row as a function of its operands, in plugjax."""
        return self.under(lax)

    def __repr__(self) -> str:
        return f"Op({self.name})"


def real(low: float, high: float, *shapes: tuple[int, ...], dtype: Any = np.float32) -> Sampler:
    """Uniform floating operands in an interval."""

    def sample(rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(np.asarray(rng.uniform(low, high, s), dtype) for s in shapes or ((3, 4),))

    return sample


def integers(low: int, high: int, *shapes: tuple[int, ...], dtype: Any = np.int32) -> Sampler:
    """Uniform integer operands, ``low`` included, ``high`` not."""

    def sample(rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(np.asarray(rng.integers(low, high, s), dtype) for s in shapes or ((3, 4),))

    return sample


def booleans(*shapes: tuple[int, ...]) -> Sampler:
    """Random bools."""
    return lambda rng: tuple(rng.uniform(size=s) < 0.5 for s in shapes)


def complexes(*shapes: tuple[int, ...]) -> Sampler:
    """Complex numbers with parts in (-2, 2)."""

    def sample(rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(
            (rng.uniform(-2, 2, s) + 1j * rng.uniform(-2, 2, s)).astype(np.complex64)
            for s in shapes or ((3, 4),)
        )

    return sample


def distinct(below: int, count: int) -> Sampler:
    """Distinct index vectors of one entry: ``[count, 1]``."""
    return lambda rng: (rng.permutation(below)[:count, None].astype(np.int32),)


def both(*samplers: Sampler) -> Sampler:
    """Operands of several samplers, in order."""
    return lambda rng: tuple(x for s in samplers for x in s(rng))


def in_float64(oracle: Callable[..., Any]) -> Callable[..., Any]:
    """The oracle computed in float64."""

    def precise(*xs: Any) -> Any:
        return oracle(*(np.asarray(x, np.float64) if x.dtype.kind == "f" else x for x in xs))

    return precise
