"""Runs in which every rounding operation is moved by some units in its last place.

The noise is put around the host kernels of primitives, in a registry of its own, so it reaches what derivatives, composed functions and
loops compute inside. What is exact stays as it is: each primitive says by its rule of the kind ``rounding`` what rounding does to it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from plugjax.extend.core import Primitive
from plugjax.extend.dtypes import INT32
from plugjax.extend.registry import Registry, use
from plugjax.extend.rules import impl, scalar_impl
from plugjax.lax import (
    add_any_p,
    add_p,
    ceil_p,
    convert_element_type_p,
    cumprod_p,
    div_p,
    dot_general_p,
    floor_p,
    mul_p,
    reduce_p,
    reduce_prod_p,
    reduce_window_p,
    round_p,
    sub_p,
)
from plugjax.lax.rounding import Rounding, RoundingFn, rounding_rule

Kernel = Callable[..., Any]


class Noise:
    """Moves values at random, and gives zeros either sign, because no sum defines the sign of its zero.

    Args:
        units: distance in units of the last place.
        flush: only replace subnormals by zeros, also among the terms of sums.
        fused: but not of products, which sums may take before they are rounded.
        wide: only accumulate in float64, without intermediate overflow.
        negate: only flip the sign of zeros among results.
        large_first: also multiply the large factors of a product first: the order decides whether it overflows, or is taken for zero.
        unrounded: with ``wide``, also give an infinity for the difference of two, as if one were a product that is subtracted before it is rounded and overflows.
        infinite: only give infinities for what is nan of a complex product whose factors are not nan: formulas differ in which component is which.
        coarse: only round results to so many bits less: what differs by rounding alone is equal in some such runs.
        step: only move what is rounded to a whole number and is not exact, away from zero (1) or towards it (-1), so that no element is missed by chance.
    """

    def __init__(
        self,
        seed: int,
        units: float = 2,
        *,
        flush: bool = False,
        fused: bool = False,
        wide: bool = False,
        negate: bool = False,
        large_first: bool = False,
        unrounded: bool = False,
        infinite: bool = False,
        coarse: int = 0,
        step: int = 0,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.units, self.flush, self.wide, self.negate = units, flush, wide, negate
        self.large_first, self.unrounded, self.fused = large_first, unrounded, fused
        self.infinite, self.coarse, self.step = infinite, coarse, step
        # Results that are not exact, by their identity.
        self._inexact: dict[int, Any] = {}

    def around(
        self, kernel: Kernel, rounding: Rounding, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """The results of a primitive on moved operands, moved."""
        if self.wide:
            return _in_float64(kernel, rounding, args, params)
        if self.infinite:
            return kernel(*args, **params)
        if self.step:
            return self._marked(kernel(*args, **params), rounding, args)
        moves_operands, moves_results = not self.fused, True
        at_random = not (self.negate or self.coarse)
        if not self.flush:
            moves_results = rounding is not Rounding.EXACT
            moves_operands = (
                moves_results and at_random and rounding is not Rounding.ROUNDS_AFTERWARDS
            )
        out = kernel(*(map(self._moved, args) if moves_operands else args), **params)
        if self.flush and rounding is Rounding.ACCUMULATES:
            return _without_small_terms(out, max(map(np.size, args), default=0))
        if not moves_results:
            return out
        if rounding is Rounding.CANCELS and at_random:
            eps = float(ml_dtypes.finfo(out.dtype).eps)
            sums = self.rng.integers(-1, 2, np.shape(out)) * self.units * eps
            out = (np.asarray(out).astype(np.float64) + sums).astype(out.dtype)
        return [self._moved(y) for y in out] if isinstance(out, list | tuple) else self._moved(out)

    def _marked(self, out: Any, rounding: Rounding, args: Sequence[Any]) -> Any:
        """The results of a primitive, of which those that are not exact are recorded."""
        if rounding is not Rounding.EXACT or any(map(self.is_inexact, args)):
            for result in out if isinstance(out, list | tuple) else [out]:
                self._inexact[id(result)] = result
        return out

    def is_inexact(self, x: Any) -> bool:
        """Whether a value was given by a primitive that rounds, or computed of such values."""
        return id(x) in self._inexact

    def _moved(self, x: Any) -> Any:
        if getattr(x, "dtype", None) is None or x.dtype.kind not in "fcV" or not x.size:
            return x
        value = np.asarray(x)
        if self.flush:
            return _flushed(value)
        if self.negate:
            return np.where(value == 0, -value, value).astype(value.dtype)
        if self.coarse:
            return _rounded(value, self.coarse)
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


def _rounded(x: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """Numbers without the last bits of their mantissas."""
    if x.dtype.kind == "c":
        parts = (_rounded(part, bits) for part in (x.real, x.imag))
        return np.stack([*parts], -1).view(x.dtype)[..., 0]
    scale = 2.0 ** (ml_dtypes.finfo(x.dtype).nmant + 1 - bits)
    fraction, exponent = np.frexp(x.astype(np.float64))
    return np.ldexp(np.rint(fraction * scale) / scale, exponent).astype(x.dtype)


def _in_float64(
    kernel: Kernel, rounding: Rounding, args: Sequence[Any], params: dict[str, Any]
) -> Any:
    """The results of a primitive, accumulated in float64 if it accumulates narrower floats."""
    narrow = all(x.dtype.kind in "fV" and x.dtype.itemsize <= 4 for x in map(np.asarray, args))
    if rounding is not Rounding.ACCUMULATES or not narrow:
        return kernel(*args, **params)
    narrow_result = kernel(*args, **params)
    if "preferred_element_type" in params:
        params = {**params, "preferred_element_type": np.dtype(np.float64)}
    found = kernel(*(np.asarray(x).astype(np.float64) for x in args), **params)
    return found.astype(narrow_result.dtype)


def _flushed(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Replace subnormals by zeros."""
    if x.dtype.kind == "c":
        return (_flushed(x.real) + 1j * _flushed(x.imag)).astype(x.dtype)
    tiny = ml_dtypes.finfo(x.dtype).smallest_normal
    return np.where(np.abs(x) < tiny, np.copysign(np.zeros_like(x), x), x)


def _without_small_terms(x: Any, terms: int) -> Any:
    """A sum that is closer to zero by what its terms have at most if all are subnormal. Sums of float16 are added in float32, where their terms are not."""
    dtype = np.asarray(x).dtype
    if dtype.kind == "c":
        parts = (_without_small_terms(part, terms) for part in (np.real(x), np.imag(x)))
        real, imaginary = parts
        return (real + 1j * imaginary).astype(dtype)
    if dtype not in (ml_dtypes.bfloat16, np.float32, np.float64):
        return x
    wide = np.asarray(x).astype(np.float64)
    lost = np.minimum(np.abs(wide), terms * float(ml_dtypes.finfo(dtype).smallest_normal))
    return (wide - np.copysign(lost, wide)).astype(dtype)


class _Current:
    """The noise in force."""

    noise: Noise | None = None


@functools.cache
def _noisy_registry() -> Registry:
    """The installed plugins, with noise around the kernels that round."""
    registry = Registry().discover()
    kernels, roundings = registry.table(impl), registry.table(rounding_rule)
    product = kernels[mul_p]
    for primitive, kernel in list(kernels.items()):
        # Kernels run inner programs too.
        if not primitive.structured:
            kernels[primitive] = _noised(kernel, roundings.get(primitive, _rounds))
    for primitive in (cumprod_p, reduce_p, reduce_prod_p, reduce_window_p):
        kernels[primitive] = _ordered(primitive, kernels[primitive])
    for primitive in (add_any_p, add_p, sub_p):
        kernels[primitive] = _unrounded(kernels[primitive])
    for primitive in (div_p, dot_general_p, mul_p):
        kernels[primitive] = _infinite(kernels[primitive])
    for primitive in (ceil_p, convert_element_type_p, floor_p, round_p):
        kernels[primitive] = _stepped(kernels[primitive])
    kernels[mul_p] = _fused(product, kernels[mul_p])
    registry.table(scalar_impl).clear()
    return registry


def _rounds(*args: Any, **params: Any) -> Rounding:
    return Rounding.ROUNDS


def _noised(kernel: Kernel, rounding: RoundingFn) -> Kernel:
    def run(*args: Any, **params: Any) -> Any:
        noise = _Current.noise
        if noise is None:
            return kernel(*args, **params)
        return noise.around(kernel, rounding(*args, **params), args, params)

    return run


def _ordered(primitive: Primitive, kernel: Kernel) -> Kernel:
    """The kernel of a reduction, which multiplies large factors first if it multiplies and the noise in force says so."""

    def run(*args: Any, **params: Any) -> Any:
        noise, x = _Current.noise, np.asarray(args[0])
        floats = x.dtype.kind == "f" and x.dtype.itemsize >= 4
        if noise is None or not (noise.large_first and floats and _multiplies(primitive, params)):
            return kernel(*args, **params)
        one, size = np.ones_like(x), np.abs(x)
        large = kernel(np.where(size > 1, x, one), *args[1:], **params)
        small = kernel(_flushed(np.where(size > 1, one, x)), *map(np.ones_like, args[1:]), **params)
        if primitive.multiple_results:
            return [a * _flushed(b) for a, b in zip(large, small, strict=True)]
        return large * _flushed(small)

    return run


def _multiplies(primitive: Primitive, params: dict[str, Any]) -> bool:
    """Whether a reduction is that of a product."""
    if primitive in (cumprod_p, reduce_prod_p):
        return True
    eqns = params["jaxpr"].jaxpr.eqns
    return [e.primitive for e in eqns] == [mul_p]


def _unrounded(kernel: Kernel) -> Kernel:
    """The kernel of a sum or a difference, which gives the first operand where two infinities give nan, if the noise in force says so."""

    def run(*args: Any, **params: Any) -> Any:
        noise, out = _Current.noise, kernel(*args, **params)
        x, y = map(np.asarray, args)
        if noise is None or not noise.unrounded or x.dtype.kind not in "fV":
            return out
        return np.where(np.isnan(out) & np.isinf(x) & np.isinf(y), x, out).astype(x.dtype)

    return run


def _infinite(kernel: Kernel) -> Kernel:
    """The kernel of a product or a quotient, which gives infinities for complex nan if the noise in force says so."""

    def run(*args: Any, **params: Any) -> Any:
        noise, out = _Current.noise, kernel(*args, **params)
        if noise is None or not noise.infinite or out.dtype.kind != "c":
            return out
        if any(np.isnan(x).any() for x in args):
            return out
        real, imaginary = (np.where(np.isnan(part), np.inf, part) for part in (out.real, out.imag))
        found = np.empty_like(out)
        found.real, found.imag = real, imaginary
        return found

    return run


def _fused(kernel: Kernel, noised: Kernel) -> Kernel:
    """The kernel of a product, without noise if the noise in force leaves products to sums."""

    def run(*args: Any, **params: Any) -> Any:
        noise = _Current.noise
        return (kernel if noise is not None and noise.fused else noised)(*args, **params)

    return run


def _stepped(kernel: Kernel) -> Kernel:
    """The kernel of a step, or of a conversion to integers, whose operand is moved in one direction if the noise in force says so."""

    def run(x: Any, **params: Any) -> Any:
        noise, value = _Current.noise, np.asarray(x)
        is_step = value.dtype.kind in "fV" and params.get("new_dtype", INT32).kind in "iu"
        if noise is None or not (is_step and noise.is_inexact(x)):
            return kernel(x, **params)
        factor = 1 + noise.step * noise.units * float(ml_dtypes.finfo(value.dtype).eps)
        return kernel((value.astype(np.float64) * factor).astype(value.dtype), **params)

    return run


@contextlib.contextmanager
def noisy() -> Iterator[Callable[[Noise], None]]:
    """Within the context, host kernels get the noise that was set last."""

    def give(noise: Noise) -> None:
        _Current.noise = noise

    with use(_noisy_registry()):
        try:
            yield give
        finally:
            _Current.noise = None


def noises() -> list[Noise]:
    """The kinds of noise that are tried before a difference counts, those that explain most of them first."""
    exact = [
        Noise(0, flush=True),
        Noise(0, wide=True),
        Noise(0, negate=True),
        Noise(0, flush=True, large_first=True),
        Noise(0, flush=True, fused=True),
        Noise(0, wide=True, unrounded=True),
        Noise(0, infinite=True),
        *(Noise(0, coarse=bits) for bits in (1, 2, 3)),
        Noise(0, step=1),
        Noise(0, step=-1),
    ]
    return [*(Noise(s) for s in (1, 2)), *exact, *(Noise(s) for s in (3, 4)), *(Noise(s, 1) for s in (5, 6))]  # fmt: skip
