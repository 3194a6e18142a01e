"""Bound on the effect of rounding errors: the program runs with every value moved by an ulp or two.

A difference within this bound is not a fault of a compiler. Sorting, comparing and rounding turn the smallest
differences into large ones, and so do chaotic programs.
"""

from __future__ import annotations

import functools
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


class Noise:
    """The noise of a program.

    Attributes:
        program: it moves each floating input and result.
        computed: how often each of these values was computed.
    """

    def __init__(self, jaxpr: ClosedJaxpr) -> None:
        self.computed: list[int] = []
        self.seed(0)
        self.program = self._noisy(jaxpr)

    def seed(self, seed: int) -> None:
        """Other noise from now on, and no value is computed yet."""
        self._generator = np.random.default_rng(seed)
        self.computed = [0] * len(self.computed)

    @property
    def repeated(self) -> int:
        """How often the value that was computed most often was computed: the steps of a loop, as far as it came."""
        return max(self.computed, default=1)

    def moved(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The elements, each by an ulp or two."""
        reach = _reach(x.dtype)
        if not x.ndim:
            # A loop over scalars calls this often.
            return np.array(x.item() * (1 + reach * (2 * self._generator.random() - 1)), x.dtype)
        factor = 1 + reach * self._generator.uniform(-1, 1, x.shape)
        wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
        return np.asarray(wide * factor).astype(x.dtype)

    def _noisy(self, jaxpr: ClosedJaxpr) -> ClosedJaxpr:
        inner = jaxpr.jaxpr
        body = rewritten(jaxpr, self._with_noise)
        invars, first = self._before(inner.invars)
        program = Jaxpr(
            body.jaxpr.constvars,
            invars,
            body.jaxpr.outvars,
            [*first, *body.jaxpr.eqns],
            inner.debug_name,
        )
        return ClosedJaxpr(program, body.consts)

    def _with_noise(self, eqn: JaxprEqn) -> list[JaxprEqn]:
        if runs_programs(eqn):
            return [eqn]
        outvars, noise = self._before(eqn.outvars)
        return [eqn.replace(outvars=outvars), *noise] if noise else [eqn]

    def _before(self, found: Sequence[Var]) -> tuple[list[Var], list[JaxprEqn]]:
        """New variables for floating ones, and the equations that add noise to them."""
        new = [Var(v.aval) if dtypes.is_inexact(v.aval.dtype) else v for v in found]
        eqns = []
        for x, y in zip(new, found, strict=True):
            if x is not y:
                eqns.append(
                    JaxprEqn([x], [y], noise_p, {"noise": self, "place": len(self.computed)})
                )
                self.computed.append(0)
        return new, eqns


@rules.define(abstract_eval, noise_p)
def _noise_aval(x: ShapedArray, **_: Any) -> ShapedArray:
    return x


@rules.define(impl, noise_p)
def _noise(x: Any, *, noise: Noise, place: int) -> Any:
    noise.computed[place] += 1
    return noise.moved(np.asarray(x))


@functools.cache
def _reach(dtype: np.dtype[Any]) -> float:
    """The largest relative change."""
    return _ULPS * float(finfo(dtype).eps)
