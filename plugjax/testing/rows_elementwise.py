"""Rows of the elementwise primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special

from plugjax import lax
from plugjax.extend.core import (
    Primitive,
    add_any_p,
    convert_element_type_p,
    mul_p,
    select_n_p,
    stop_gradient_p,
)
from plugjax.testing.row import (
    Op,
    Sampler,
    booleans,
    both,
    complexes,
    in_float64,
    integers,
    real,
)

_M = (3, 4)
_PAIR = ((3, 4), (3, 4))


def unary(
    primitive: Primitive,
    call: str | Callable[..., Any],
    oracle: Callable[..., Any],
    sample: Sampler,
    order: int = 2,
    rtol: float = 2e-6,
) -> Op:
    """The row of a primitive with one operand, called as the primitive is."""
    return Op(primitive.name, primitive, call, oracle, sample, order, rtol=rtol)


def _order(x: Any) -> Any:
    """Positions in the total order: the bits of numbers, reversed for negative ones."""
    bits = x.view(np.int32)
    return np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)


def _total(primitive: Primitive, compare: Callable[..., Any]) -> Op:
    """A comparison in the total order of floating numbers."""
    values = np.array([-np.nan, -np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan], np.float32)
    return Op(
        primitive.name,
        primitive,
        lambda lax, x, y: getattr(lax, f"{primitive.name}_p").bind(x, y),
        lambda x, y: compare(_order(x), _order(y)),
        lambda rng: (rng.choice(values, (4, 5)), rng.choice(values, (4, 5))),
    )


ELEMENTWISE: Sequence[Op] = (
    unary(lax.neg_p, "neg", np.negative, real(-2, 2)),
    unary(lax.abs_p, "abs", np.abs, real(0.5, 2), 1),
    Op("abs complex", lax.abs_p, lambda lax, x, y: lax.abs(lax.complex(x, y)), in_float64(np.hypot),
       real(0.5, 2, *_PAIR), 2),
    unary(lax.sign_p, "sign", np.sign, real(-2, 2), 0),
    unary(lax.floor_p, "floor", np.floor, real(-5, 5), 0),
    unary(lax.ceil_p, "ceil", np.ceil, real(-5, 5), 0),
    unary(lax.round_p, lambda lax, x: lax.round(x, 1), np.rint, real(-5, 5), 0),
    unary(lax.square_p, "square", in_float64(np.square), real(-2, 2)),
    Op("integer_pow", lax.integer_pow_p, lambda lax, x: lax.integer_pow(x, 5),
       in_float64(lambda x: x**5), real(0.5, 1.5), 2),
    Op("integer_pow negative", lax.integer_pow_p, lambda lax, x: lax.integer_pow(x, -2),
       in_float64(lambda x: x**-2.0), real(0.5, 1.5), 2),
    unary(lax.exp_p, "exp", in_float64(np.exp), real(-3, 3)),
    unary(lax.exp2_p, "exp2", in_float64(np.exp2), real(-3, 3)),
    unary(lax.expm1_p, "expm1", in_float64(np.expm1), real(-1, 1)),
    unary(lax.log_p, "log", in_float64(np.log), real(0.2, 3), rtol=1e-5),
    unary(lax.log1p_p, "log1p", in_float64(np.log1p), real(-0.5, 3), rtol=1e-5),
    unary(lax.sqrt_p, "sqrt", in_float64(np.sqrt), real(0.2, 3)),
    unary(lax.rsqrt_p, "rsqrt", in_float64(lambda x: 1 / np.sqrt(x)), real(0.5, 3)),
    unary(lax.cbrt_p, "cbrt", in_float64(np.cbrt), real(0.5, 3)),
    unary(lax.logistic_p, "logistic", in_float64(scipy.special.expit), real(-5, 5)),
    unary(lax.sin_p, "sin", in_float64(np.sin), real(-3, 3), rtol=1e-5),
    unary(lax.cos_p, "cos", in_float64(np.cos), real(-3, 3), rtol=1e-5),
    unary(lax.tan_p, "tan", in_float64(np.tan), real(-1, 1), rtol=1e-5),
    unary(lax.asin_p, "asin", in_float64(np.arcsin), real(-0.8, 0.8), rtol=1e-5),
    unary(lax.acos_p, "acos", in_float64(np.arccos), real(-0.8, 0.8), rtol=1e-5),
    unary(lax.atan_p, "atan", in_float64(np.arctan), real(-3, 3), rtol=1e-5),
    Op("atan2", lax.atan2_p, "atan2", in_float64(np.arctan2), real(0.5, 2, *_PAIR), 2, rtol=1e-5),
    unary(lax.sinh_p, "sinh", in_float64(np.sinh), real(-2, 2), rtol=1e-5),
    unary(lax.cosh_p, "cosh", in_float64(np.cosh), real(-2, 2), rtol=1e-5),
    unary(lax.tanh_p, "tanh", in_float64(np.tanh), real(-2, 2), rtol=1e-5),
    unary(lax.asinh_p, "asinh", in_float64(np.arcsinh), real(-2, 2), rtol=1e-5),
    unary(lax.acosh_p, "acosh", in_float64(np.arccosh), real(1.5, 3), rtol=1e-5),
    unary(lax.atanh_p, "atanh", in_float64(np.arctanh), real(-0.8, 0.8), rtol=1e-5),
    unary(lax.erf_p, "erf", in_float64(scipy.special.erf), real(-2, 2), rtol=1e-5),
    unary(lax.erfc_p, "erfc", in_float64(scipy.special.erfc), real(-2, 2), rtol=1e-5),
    unary(lax.erf_inv_p, "erf_inv", in_float64(scipy.special.erfinv), real(-0.8, 0.8), rtol=1e-5),
    Op("add", lax.add_p, "add", np.add, real(-2, 2, *_PAIR), 2),
    Op("add stretched", lax.add_p, "add", np.add, real(-2, 2, (3, 4), (3, 1)), 2),
    Op("add scalar", lax.add_p, "add", np.add, real(-2, 2, (3, 4), ()), 2),
    Op("add integers", lax.add_p, "add", np.add, integers(-9, 9, *_PAIR)),
    Op("add_any", add_any_p, lambda _, x, y: add_any_p.bind(x, y), np.add, real(-2, 2, *_PAIR), 2,
       without_jax="JAX keeps this primitive inside its automatic differentiation"),
    Op("sub", lax.sub_p, "sub", np.subtract, real(-2, 2, *_PAIR), 2),
    Op("sub stretched", lax.sub_p, "sub", np.subtract, real(-2, 2, (1, 4), (3, 4)), 2),
    Op("mul", mul_p, "mul", np.multiply, real(-2, 2, *_PAIR), 2),
    Op("mul stretched", mul_p, "mul", np.multiply, real(-2, 2, (3, 1), (3, 4)), 2),
    Op("mul scalar", mul_p, "mul", np.multiply, real(-2, 2, (), (3, 4)), 2),
    Op("div", lax.div_p, "div", np.divide, real(0.5, 2, *_PAIR), 2),
    Op("div integers", lax.div_p, "div", lambda x, y: np.trunc(x / y).astype(x.dtype),
       both(integers(-20, 20), integers(1, 5))),
    Op("rem", lax.rem_p, "rem", np.fmod, both(real(-5, 5), real(1, 2)), 1, wrt=(0,)),
    Op("pow", lax.pow_p, "pow", in_float64(np.power), real(0.5, 2, *_PAIR), 2, rtol=1e-5),
    Op("max", lax.max_p, "max", np.maximum, real(-2, 2, *_PAIR), 1),
    Op("min", lax.min_p, "min", np.minimum, real(-2, 2, *_PAIR), 1),
    Op("mulhi", lax.mulhi_p, "mulhi", lambda x, y: (x.astype(np.int64) * y >> 32).astype(np.int32),
       integers(-(2**31), 2**31, *_PAIR)),
    Op("mulhi of bytes", lax.mulhi_p, "mulhi",
       lambda x, y: (x.astype(np.int64) * y >> 8).astype(np.uint8),
       integers(0, 256, *_PAIR, dtype=np.uint8)),
    Op("nextafter", lax.nextafter_p, "nextafter", np.nextafter, real(-2, 2, *_PAIR), rtol=0),
    Op("eq", lax.eq_p, "eq", np.equal, integers(0, 3, *_PAIR)),
    Op("ne", lax.ne_p, "ne", np.not_equal, integers(0, 3, *_PAIR)),
    Op("lt", lax.lt_p, "lt", np.less, real(-2, 2, *_PAIR)),
    Op("le", lax.le_p, "le", np.less_equal, integers(0, 3, *_PAIR)),
    Op("gt", lax.gt_p, "gt", np.greater, real(-2, 2, *_PAIR)),
    Op("ge", lax.ge_p, "ge", np.greater_equal, integers(0, 3, *_PAIR, dtype=np.uint8)),
    _total(lax.eq_to_p, np.equal),
    _total(lax.lt_to_p, np.less),
    _total(lax.le_to_p, np.less_equal),
    unary(lax.is_finite_p, "is_finite", np.isfinite,
       lambda rng: (np.array([1, np.inf, np.nan], np.float32),), 0),
    unary(lax.not_p, "bitwise_not", np.bitwise_not, integers(-9, 9), 0),
    Op("and", lax.and_p, "bitwise_and", np.bitwise_and, integers(0, 99, *_PAIR)),
    Op("or", lax.or_p, "bitwise_or", np.bitwise_or, integers(0, 99, *_PAIR)),
    Op("xor", lax.xor_p, "bitwise_xor", np.bitwise_xor, integers(0, 99, *_PAIR)),
    Op("or booleans", lax.or_p, "bitwise_or", np.bitwise_or, booleans(*_PAIR)),
    Op("shift_left", lax.shift_left_p, "shift_left", np.left_shift,
       both(integers(0, 99), integers(0, 8))),
    Op("shift_right_logical", lax.shift_right_logical_p, "shift_right_logical",
       lambda x, y: (x.view(np.uint32) >> y.view(np.uint32)).view(np.int32),
       both(integers(-99, 99), integers(0, 8))),
    Op("shift_right_arithmetic", lax.shift_right_arithmetic_p, "shift_right_arithmetic",
       np.right_shift, both(integers(-99, 99), integers(0, 8))),
    unary(lax.population_count_p, "population_count",
       lambda x: np.bitwise_count(x.view(np.uint32)).astype(np.int32), integers(-99, 99), 0),
    unary(lax.clz_p, "clz",
       lambda x: np.where(x == 0, 32, 31 - np.floor(np.log2(np.maximum(x, 1)))).astype(np.int32),
       integers(0, 999), 0),
    unary(lax.real_p, "real", np.real, complexes(), 0),
    unary(lax.imag_p, "imag", np.imag, complexes(), 0),
    unary(lax.conj_p, "conj", np.conj, complexes(), 0),
    Op("complex", lax.complex_p, "complex", lambda x, y: x + 1j * y, real(-2, 2, *_PAIR)),
    Op("real of a product", lax.real_p, lambda lax, x, y: lax.real(lax.square(lax.complex(x, y))),
       in_float64(lambda x, y: x * x - y * y), real(-2, 2, *_PAIR), 2, rtol=1e-5),
    Op("imag of a conjugate", lax.conj_p,
       lambda lax, x, y: lax.imag(lax.conj(lax.square(lax.complex(x, y)))),
       in_float64(lambda x, y: -2 * x * y), real(-2, 2, *_PAIR), 2, rtol=1e-5),
    Op("select_n", select_n_p, "select_n", lambda w, a, b: np.where(w, b, a),
       both(booleans(_M), real(-2, 2, *_PAIR)), 2),
    Op("select_n of three", select_n_p, "select_n", lambda w, *c: np.choose(w, c),
       both(integers(0, 3), real(-2, 2, *_PAIR, _M)), 2),
    Op("select_n by a scalar", select_n_p, "select_n", lambda w, a, b: b if w else a,
       both(booleans(()), real(-2, 2, *_PAIR)), 2),
    Op("clamp", lax.clamp_p, lambda lax, x: lax.clamp(x.dtype.type(-1), x, x.dtype.type(1)),
       lambda x: np.clip(x, -1, 1), real(-2, 2), 1),
    Op("clamp between arrays", lax.clamp_p, "clamp",
       lambda a, x, b: np.minimum(np.maximum(x, a), b),
       both(real(-1, 0), real(-2, 2), real(0.1, 1)), 1),
    Op("convert_element_type", convert_element_type_p,
       lambda lax, x: lax.convert_element_type(x, np.float16), lambda x: x.astype(np.float16),
       real(-2, 2), rtol=0),
    Op("convert float to int", convert_element_type_p,
       lambda lax, x: lax.convert_element_type(x, np.int32), lambda x: x.astype(np.int32),
       real(-9, 9)),
    Op("convert to complex", convert_element_type_p,
       lambda lax, x: lax.real(lax.square(lax.convert_element_type(x, complex))),
       in_float64(np.square), real(-2, 2), 2),
    Op("bitcast_convert_type", lax.bitcast_convert_type_p,
       lambda lax, x: lax.bitcast_convert_type(x, np.int32), lambda x: x.view(np.int32),
       real(-2, 2), rtol=0),
    unary(stop_gradient_p, "stop_gradient", lambda x: x, real(-2, 2), 0),
    unary(lax.copy_p, lambda lax, x: lax.copy_p.bind(x), lambda x: x, real(-2, 2)),
    unary(lax.stage_p, "stage", lambda x: x, real(-2, 2)),
    unary(lax.reduce_precision_p, lambda lax, x: lax.reduce_precision(x, 5, 10),
       lambda x: x.astype(np.float16).astype(x.dtype), real(-2, 2), 0, rtol=0),
)  # fmt: skip
