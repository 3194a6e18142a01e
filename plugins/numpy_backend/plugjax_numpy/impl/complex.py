"""Kernels of complex numbers."""

from __future__ import annotations

import numpy as np

from plugjax.core import RuleSet, impl
from plugjax.lax import complex as lax
from plugjax_numpy.kernels import Value, define_ufunc

rules = RuleSet(__name__)

rules.define(impl, lax.real_p)(np.real)
rules.define(impl, lax.imag_p)(np.imag)
define_ufunc(rules, lax.conj_p, np.conjugate)


@rules.define(impl, lax.complex_p)
def _complex(x: Value, y: Value) -> Value:
    # Assembled part by part: x + 1j * y would turn an infinite y into a nan real part.
    dtype = np.complex64 if x.dtype == np.float32 else np.complex128
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), dtype)
    out.real = x
    out.imag = y
    return out
