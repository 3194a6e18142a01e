"""Runs in which everything that rounds is moved by some units in its last place.

The noise is put around the host kernels of primitives, in a registry of its own, so it reaches what derivatives, composed functions and
loops compute inside. What moves, chooses or compares is exact and stays as it is.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from plugjax.core import Registry, impl
from plugjax.core.registry import use
from plugjax.core.rules import scalar_impl

Kernel = Callable[..., Any]

# Primitives that move, choose or compare: their operands stay as they are, and so do their results.
EXACT = frozenset(
    (
        "abs",
        "approx_top_k",
        "argmax",
        "argmin",
        "bitcast_convert_type",
        "broadcast_in_dim",
        "ceil",
        "clamp",
        "complex",
        "concatenate",
        "conj",
        "copy",
        "cummax",
        "cummin",
        "device_put",
        "dynamic_slice",
        "dynamic_update_slice",
        "eq",
        "eq_to",
        "floor",
        "gather",
        "ge",
        "gt",
        "imag",
        "iota",
        "is_finite",
        "le",
        "le_to",
        "lt",
        "lt_to",
        "max",
        "min",
        "name",
        "ne",
        "neg",
        "nextafter",
        "optimization_barrier",
        "pad",
        "real",
        "reduce_max",
        "reduce_min",
        "reduce_precision",
        "reduce_window_max",
        "reduce_window_min",
        "rem",
        "reshape",
        "rev",
        "round",
        "scatter",
        "scatter-max",
        "scatter-min",
        "select_and_gather_add",
        "select_n",
        "sharding_constraint",
        "sign",
        "slice",
        "sort",
        "split",
        "squeeze",
        "stack",
        "stage",
        "stop_gradient",
        "tile",
        "top_k",
        "transpose",
        "unstack",
    )
)
# These add or multiply up, in an order that nobody promises: whether they overflow on the way depends on it.
ACCUMULATES = frozenset(
    (
        "conv_general_dilated",
        "cumprod",
        "cumsum",
        "dot_general",
        "reduce_prod",
        "reduce_sum",
        "reduce_window_sum",
    )
)
# These are sums of larger numbers, and as exact as those.
CANCELS = frozenset(("lgamma",))
# These round, and look at the order or the whole part of their operands.
ROUNDS_AFTERWARDS = frozenset(("convert_element_type", "select_and_scatter_add"))


class Noise:
    """Moves values at random, and gives zeros either sign: no sum promises its zero's sign.

    Args:
        units: how far, in units of the last place.
        flush: replace subnormals by zeros, and move nothing.
        wide: accumulate in float64, where nothing overflows on the way, and move nothing.
        negate: give zeros among results the other sign, and move nothing.
    """

    def __init__(
        self,
        seed: int,
        units: float = 2,
        *,
        flush: bool = False,
        wide: bool = False,
        negate: bool = False,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.units, self.flush, self.wide, self.negate = units, flush, wide, negate

    def around(self, kernel: Kernel, name: str, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """The results of a primitive on moved operands, moved."""
        if self.wide:
            return _in_float64(kernel, name, args, params)
        moves_operands = moves_results = True
        if not self.flush:
            rounds = name not in EXACT or (name == "abs" and args[0].dtype.kind == "c")
            moves_operands = rounds and not self.negate and name not in ROUNDS_AFTERWARDS
            moves_results = rounds and not _widens(name, args)
        out = kernel(*(map(self._moved, args) if moves_operands else args), **params)
        if not moves_results:
            return out
        if name in CANCELS and not self.negate:
            eps = float(ml_dtypes.finfo(out.dtype).eps)
            sums = self.rng.integers(-1, 2, np.shape(out)) * self.units * eps
            out = (np.asarray(out).astype(np.float64) + sums).astype(out.dtype)
        return [self._moved(y) for y in out] if isinstance(out, list | tuple) else self._moved(out)

    def _moved(self, x: Any) -> Any:
        if getattr(x, "dtype", None) is None or x.dtype.kind not in "fcV" or not x.size:
            return x
        value = np.asarray(x)
        if self.flush:
            return _flushed(value)
        if self.negate:
            return np.where(value == 0, -value, value).astype(value.dtype)
        return self._moved_complex(value) if value.dtype.kind == "c" else self._moved_floats(value)

    def _moved_floats(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        eps = float(ml_dtypes.finfo(x.dtype).eps)
        factors = 1 + self.rng.integers(-1, 2, x.shape) * self.units * eps
        signs = np.where((x == 0) & (self.rng.random(x.shape) < 0.5), -1, 1)
        return (x.astype(np.float64) * factors * signs).astype(x.dtype)

    def _moved_complex(self, z: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        eps = float(np.finfo(z.dtype).eps)
        turn = self.rng.uniform(-1, 1, (2, *z.shape)) * self.units * eps
        return np.where(np.isfinite(z), z * (1 + turn[0] + 1j * turn[1]), z).astype(z.dtype)


def _widens(name: str, args: Sequence[Any]) -> bool:
    """Whether a conversion is from a narrower float or from no float at all: exact, or rounded the same everywhere."""
    if name != "convert_element_type":
        return False
    return args[0].dtype.kind in "biu" or args[0].dtype.itemsize <= 2


def _in_float64(kernel: Kernel, name: str, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """The results of a primitive, accumulated in float64 if it accumulates narrower floats."""
    narrow = all(x.dtype.kind in "fV" and x.dtype.itemsize <= 4 for x in map(np.asarray, args))
    if name not in ACCUMULATES or not narrow:
        return kernel(*args, **params)
    narrow_result = kernel(*args, **params)
    if "preferred_element_type" in params:
        params = {**params, "preferred_element_type": np.dtype(np.float64)}
    found = kernel(*(np.asarray(x).astype(np.float64) for x in args), **params)
    return found.astype(narrow_result.dtype)


def _flushed(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Zeros for subnormals."""
    if x.dtype.kind == "c":
        return (_flushed(x.real) + 1j * _flushed(x.imag)).astype(x.dtype)
    tiny = ml_dtypes.finfo(x.dtype).smallest_normal
    return np.where(np.abs(x) < tiny, np.copysign(np.zeros_like(x), x), x)


class _Current:
    """The noise of the moment."""

    noise: Noise | None = None


@functools.cache
def _noisy_registry() -> Registry:
    """The installed plugins, with noise around the kernels of what rounds."""
    registry = Registry().discover()
    kernels = registry.table(impl)
    for primitive, kernel in list(kernels.items()):
        # A program inside another one is run by kernels too.
        if not primitive.structured:
            kernels[primitive] = _noised(kernel, primitive.name)
    registry.table(scalar_impl).clear()
    return registry


def _noised(kernel: Kernel, name: str) -> Kernel:
    def run(*args: Any, **params: Any) -> Any:
        noise = _Current.noise
        return (
            kernel(*args, **params) if noise is None else noise.around(kernel, name, args, params)
        )

    return run


@contextlib.contextmanager
def noisy() -> Iterator[Callable[[Noise], None]]:
    """Within it, host kernels get the noise that was given last."""

    def give(noise: Noise) -> None:
        _Current.noise = noise

    with use(_noisy_registry()):
        try:
            yield give
        finally:
            _Current.noise = None


def noises() -> list[Noise]:
    """What is tried before a difference counts."""
    exact = [Noise(0, flush=True), Noise(0, wide=True), Noise(0, negate=True)]
    return [*exact, *(Noise(s) for s in range(1, 5)), *(Noise(s, 1) for s in (5, 6))]
