"""Bound on the effect of rounding errors: the program runs with every value moved by an ulp or two.

A difference within this bound is not a fault of a compiler. Sorting, comparing and rounding turn the smallest
differences into large ones, and so do chaotic programs.
"""

from __future__ import annotations

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


def reseed(seed: int) -> None:
    """Seed the noise."""
    global _generator
    _generator = np.random.default_rng(seed)


@rules.define(abstract_eval, noise_p)
def _noise_aval(x: ShapedArray) -> ShapedArray:
    return x


@rules.define(impl, noise_p)
def _noise(x: Any) -> Any:
    x = np.asarray(x)
    epsilon = _ULPS * float(finfo(x.dtype).eps)
    factor = 1 + epsilon * _generator.uniform(-1, 1, x.shape)
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    return np.asarray(wide * factor).astype(x.dtype)


def noisy(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program with noise on each floating input and result."""
    inner = jaxpr.jaxpr
    body = rewritten(jaxpr, _with_noise)
    invars = [Var(v.aval) if dtypes.is_inexact(v.aval.dtype) else v for v in inner.invars]
    first = [
        JaxprEqn([new], [old], noise_p, {})
        for new, old in zip(invars, inner.invars, strict=True)
        if new is not old
    ]
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
    outvars = [Var(v.aval) if dtypes.is_inexact(v.aval.dtype) else v for v in eqn.outvars]
    noise = [
        JaxprEqn([new], [old], noise_p, {})
        for new, old in zip(outvars, eqn.outvars, strict=True)
        if new is not old
    ]
    return [eqn.replace(outvars=outvars), *noise] if noise else [eqn]
