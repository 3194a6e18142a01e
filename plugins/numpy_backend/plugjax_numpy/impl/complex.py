"""Kernels of complex numbers."""

from __future__ import annotations

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.complex import complex_p, conj_p, imag_p, real_p
from plugjax_numpy.kernels import Value, define_ufunc

rules = RuleSet(__name__)

rules.define(impl, real_p)(np.real)
rules.define(impl, imag_p)(np.imag)
define_ufunc(rules, conj_p, np.conjugate)


@rules.define(impl, complex_p)
def _complex(x: Value, y: Value) -> Value:
    # Assemble the parts: in x + 1j * y an infinite y makes the real part nan.
    dtype = np.complex64 if x.dtype == np.float32 else np.complex128
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), dtype)
    out.real = x
    out.imag = y
    return out
