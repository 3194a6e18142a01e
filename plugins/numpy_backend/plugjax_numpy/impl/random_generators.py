"""Kernel of the random number generator with a hidden state."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.random_generators import rng_uniform_p
from plugjax_numpy.kernels import Value, mark_fresh

rules = RuleSet(__name__)
mark_fresh(rules, rng_uniform_p)


@functools.cache
def _generator() -> np.random.Generator:
    """The generator, made on first use: `numpy.random` takes 10 ms to load. Its methods hold a lock."""
    return np.random.default_rng()


@rules.define(impl, rng_uniform_p)
def _uniform(a: Value, b: Value, *, shape: tuple[int, ...]) -> Value:
    dtype = a.dtype
    if dtypes.is_float(dtype):
        low, high = (np.asarray(v, np.float64) for v in (a, b))
        numbers = (low + (high - low) * _generator().random(shape)).astype(dtype)
        # Rounding may reach the upper bound.
        return np.minimum(numbers, np.nextafter(b, a).astype(dtype))
    least, most = int(a), int(b)
    whole: Any = np.int64 if least < 0 else np.uint64
    return _generator().integers(least, max(most, least + 1), shape, whole).astype(dtype)
