"""Kernels of trigonometric and hyperbolic primitives."""

from __future__ import annotations

import numpy as np

from plugjax.extend.rules import RuleSet
from plugjax.lax import trigonometric as lax
from plugjax_numpy.kernels import define_ufunc

rules = RuleSet(__name__)

define_ufunc(rules, lax.sin_p, np.sin)
define_ufunc(rules, lax.cos_p, np.cos)
define_ufunc(rules, lax.tan_p, np.tan)
define_ufunc(rules, lax.asin_p, np.arcsin)
define_ufunc(rules, lax.acos_p, np.arccos)
define_ufunc(rules, lax.atan_p, np.arctan)
define_ufunc(rules, lax.atan2_p, np.arctan2)
define_ufunc(rules, lax.sinh_p, np.sinh)
define_ufunc(rules, lax.cosh_p, np.cosh)
define_ufunc(rules, lax.tanh_p, np.tanh)
define_ufunc(rules, lax.asinh_p, np.arcsinh)
define_ufunc(rules, lax.acosh_p, np.arccosh)
define_ufunc(rules, lax.atanh_p, np.arctanh)
