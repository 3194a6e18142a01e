"""Bound on the effect of rounding errors: the program runs with every value moved by an ulp or two.

A difference within this bound is not a fault of a compiler. Sorting, comparing and rounding turn the smallest
differences into large ones, and so do chaotic programs.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from ml_dtypes import finfo

from plugjax.extend import dtypes
from plugjax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Primitive, ShapedArray, Var
from plugjax.extend.rules import RuleSet, abstract_eval, impl
from plugjax.guard.rewriting import rewritten, runs_programs

rules = RuleSet(__name__)

noise_p = Primitive("noise")

_ULPS = 2.0
_generator = np.random.default_rng()
_computed: Counter[int] = Counter()
_places = itertools.count()


def reseed(seed: int) -> None:
    """Seed the noise."""
    global _generator
    _generator = np.random.default_rng(seed)
    _computed.clear()


def repeated() -> int:
    """How often the value that was computed most often was computed: the steps of a loop, as far as it came."""
    return max(_computed.values(), default=1)


@rules.define(abstract_eval, noise_p)
def _noise_aval(x: ShapedArray, *, place: int) -> ShapedArray:
    return x


@rules.define(impl, noise_p)
def _noise(x: Any, *, place: int) -> Any:
    _computed[place] += 1
    x = np.asarray(x)
    moved = _moved(x.dtype)
    if not x.ndim:
        # A loop over scalars calls this often.
        return np.array(x.item() * (1 + moved * (2 * _generator.random() - 1)), x.dtype)
    factor = 1 + moved * _generator.uniform(-1, 1, x.shape)
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    return np.asarray(wide * factor).astype(x.dtype)


@functools.cache
def _moved(dtype: np.dtype[Any]) -> float:
    """The largest relative change."""
    return _ULPS * float(finfo(dtype).eps)


def noisy(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program with noise on each floating input and result."""
    inner = jaxpr.jaxpr
    body = rewritten(jaxpr, _with_noise)
    invars, first = _before_noise(inner.invars)
    program = Jaxpr(
        body.jaxpr.constvars,
        invars,
        body.jaxpr.outvars,
        [*first, *body.jaxpr.eqns],
        inner.debug_name,
    )
    return ClosedJaxpr(program, body.consts)


def _with_noise(eqn: JaxprEqn) -> list[JaxprEqn]:
    if runs_programs(eqn):
        return [eqn]
    outvars, noise = _before_noise(eqn.outvars)
    return [eqn.replace(outvars=outvars), *noise] if noise else [eqn]


def _before_noise(found: Sequence[Var]) -> tuple[list[Var], list[JaxprEqn]]:
    """New variables for floating ones, and the equations that add noise to them."""
    new = [Var(v.aval) if dtypes.is_inexact(v.aval.dtype) else v for v in found]
    pairs = [(x, y) for x, y in zip(new, found, strict=True) if x is not y]
    return new, [JaxprEqn([x], [y], noise_p, {"place": next(_places)}) for x, y in pairs]
