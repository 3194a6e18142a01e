"""The op table: one row per primitive. The checks of ``testing.checks`` come from the rows.

A row names the function, its oracle in NumPy or SciPy, sample operands, and how often it can be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.special

from plugjax import lax
from plugjax.core import Primitive
from plugjax.core.vocabulary import (
    add_any_p,
    broadcast_in_dim_p,
    convert_element_type_p,
    mul_p,
    reduce_sum_p,
    reshape_p,
    select_n_p,
    transpose_p,
)

Sampler = Callable[[np.random.Generator], tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class Op:
    """One row.

    Attributes:
        name: of the row; the primitive's name, with a word for the case if there are several rows.
        primitive: whose rules it tests.
        function: takes the sample operands.
        oracle: the same in NumPy, computed in the operands' precision or above.
        sample: makes operands.
        order: how often the function can be differentiated; 0 if it has no derivative.
        wrt: operands to differentiate with respect to; all floating ones if left out.
        rtol: tolerance against the oracle.
        batch: operands that can have a batch axis.
        linear: whether the function is linear in ``wrt`` (finite differences are then exact but for rounding).
    """

    name: str
    primitive: Primitive
    function: Callable[..., Any]
    oracle: Callable[..., Any]
    sample: Sampler
    order: int = 0
    wrt: tuple[int, ...] | None = None
    rtol: float = 2e-6
    batch: tuple[int, ...] | None = None
    tags: frozenset[str] = field(default_factory=frozenset)

    def __repr__(self) -> str:
        return f"Op({self.name})"


def real(low: float, high: float, *shapes: tuple[int, ...]) -> Sampler:
    """Uniform float32 operands in an interval."""

    def sample(rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(rng.uniform(low, high, s).astype(np.float32) for s in shapes or ((3, 4),))

    return sample


def integers(low: int, high: int, *shapes: tuple[int, ...], dtype: Any = np.int32) -> Sampler:
    """Uniform integer operands."""

    def sample(rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(rng.integers(low, high, s).astype(dtype) for s in shapes or ((3, 4),))

    return sample


def both(*samplers: Sampler) -> Sampler:
    """Operands of several samplers, in order."""
    return lambda rng: tuple(x for s in samplers for x in s(rng))


def booleans(*shapes: tuple[int, ...]) -> Sampler:
    """Random bools."""
    return lambda rng: tuple(rng.uniform(size=s) < 0.5 for s in shapes)


_M = (3, 4)
_PAIR = ((3, 4), (3, 4))


def _unary(
    primitive: Primitive, function: Any, oracle: Any, sample: Sampler, order: int = 2, **kw: Any
) -> Op:
    return Op(primitive.name, primitive, function, oracle, sample, order, **kw)


def _f64(oracle: Callable[..., Any]) -> Callable[..., Any]:
    """The oracle computed in float64."""

    def precise(*xs: Any) -> Any:
        return oracle(*(np.asarray(x, np.float64) if x.dtype.kind == "f" else x for x in xs))

    return precise


ELEMENTWISE: Sequence[Op] = (
    _unary(lax.neg_p, lax.neg, np.negative, real(-2, 2)),
    _unary(lax.abs_p, lax.abs, np.abs, real(0.5, 2), 1),
    _unary(lax.sign_p, lax.sign, np.sign, real(-2, 2), 0),
    _unary(lax.floor_p, lax.floor, np.floor, real(-5, 5), 0),
    _unary(lax.ceil_p, lax.ceil, np.ceil, real(-5, 5), 0),
    _unary(lax.round_p, lambda x: lax.round(x, 1), np.rint, real(-5, 5), 0),
    _unary(lax.square_p, lax.square, _f64(np.square), real(-2, 2)),
    Op("integer_pow", lax.integer_pow_p, lambda x: lax.integer_pow(x, 5), _f64(lambda x: x**5), real(0.5, 1.5), 2),
    Op("integer_pow negative", lax.integer_pow_p, lambda x: lax.integer_pow(x, -2), _f64(lambda x: x**-2.0), real(0.5, 1.5), 2),
    _unary(lax.exp_p, lax.exp, _f64(np.exp), real(-3, 3)),
    _unary(lax.exp2_p, lax.exp2, _f64(np.exp2), real(-3, 3)),
    _unary(lax.expm1_p, lax.expm1, _f64(np.expm1), real(-1, 1)),
    _unary(lax.log_p, lax.log, _f64(np.log), real(0.2, 3), rtol=1e-5),
    _unary(lax.log1p_p, lax.log1p, _f64(np.log1p), real(-0.5, 3), rtol=1e-5),
    _unary(lax.sqrt_p, lax.sqrt, _f64(np.sqrt), real(0.2, 3)),
    _unary(lax.rsqrt_p, lax.rsqrt, _f64(lambda x: 1 / np.sqrt(x)), real(0.5, 3)),
    _unary(lax.cbrt_p, lax.cbrt, _f64(np.cbrt), real(0.5, 3)),
    _unary(lax.logistic_p, lax.logistic, _f64(scipy.special.expit), real(-5, 5)),
    _unary(lax.sin_p, lax.sin, _f64(np.sin), real(-3, 3), rtol=1e-5),
    _unary(lax.cos_p, lax.cos, _f64(np.cos), real(-3, 3), rtol=1e-5),
    _unary(lax.tan_p, lax.tan, _f64(np.tan), real(-1, 1), rtol=1e-5),
    _unary(lax.asin_p, lax.asin, _f64(np.arcsin), real(-0.8, 0.8), rtol=1e-5),
    _unary(lax.acos_p, lax.acos, _f64(np.arccos), real(-0.8, 0.8), rtol=1e-5),
    _unary(lax.atan_p, lax.atan, _f64(np.arctan), real(-3, 3), rtol=1e-5),
    Op("atan2", lax.atan2_p, lax.atan2, _f64(np.arctan2), real(0.5, 2, *_PAIR), 2, rtol=1e-5),
    _unary(lax.sinh_p, lax.sinh, _f64(np.sinh), real(-2, 2), rtol=1e-5),
    _unary(lax.cosh_p, lax.cosh, _f64(np.cosh), real(-2, 2), rtol=1e-5),
    _unary(lax.tanh_p, lax.tanh, _f64(np.tanh), real(-2, 2), rtol=1e-5),
    _unary(lax.asinh_p, lax.asinh, _f64(np.arcsinh), real(-2, 2), rtol=1e-5),
    _unary(lax.acosh_p, lax.acosh, _f64(np.arccosh), real(1.5, 3), rtol=1e-5),
    _unary(lax.atanh_p, lax.atanh, _f64(np.arctanh), real(-0.8, 0.8), rtol=1e-5),
    _unary(lax.erf_p, lax.erf, _f64(scipy.special.erf), real(-2, 2), rtol=1e-5),
    _unary(lax.erfc_p, lax.erfc, _f64(scipy.special.erfc), real(-2, 2), rtol=1e-5),
    _unary(lax.erf_inv_p, lax.erf_inv, _f64(scipy.special.erfinv), real(-0.8, 0.8), rtol=1e-5),
    Op("add", lax.add_p, lax.add, np.add, real(-2, 2, *_PAIR), 2),
    Op("add stretched", lax.add_p, lax.add, np.add, real(-2, 2, (3, 4), (3, 1)), 2),
    Op("add scalar", lax.add_p, lax.add, np.add, real(-2, 2, (3, 4), ()), 2),
    Op("add integers", lax.add_p, lax.add, np.add, integers(-9, 9, *_PAIR)),
    Op("add_any", add_any_p, add_any_p.bind, np.add, real(-2, 2, *_PAIR), 2),
    Op("sub", lax.sub_p, lax.sub, np.subtract, real(-2, 2, *_PAIR), 2),
    Op("sub stretched", lax.sub_p, lax.sub, np.subtract, real(-2, 2, (1, 4), (3, 4)), 2),
    Op("mul", mul_p, lax.mul, np.multiply, real(-2, 2, *_PAIR), 2),
    Op("mul stretched", mul_p, lax.mul, np.multiply, real(-2, 2, (3, 1), (3, 4)), 2),
    Op("mul scalar", mul_p, lax.mul, np.multiply, real(-2, 2, (), (3, 4)), 2),
    Op("div", lax.div_p, lax.div, np.divide, real(0.5, 2, *_PAIR), 2),
    Op("div integers", lax.div_p, lax.div, lambda x, y: np.trunc(x / y).astype(x.dtype), both(integers(-20, 20), integers(1, 5))),
    Op("rem", lax.rem_p, lax.rem, np.fmod, both(real(-5, 5), real(1, 2)), 1, wrt=(0,)),
    Op("pow", lax.pow_p, lax.pow, _f64(np.power), real(0.5, 2, *_PAIR), 2, rtol=1e-5),
    Op("max", lax.max_p, lax.max, np.maximum, real(-2, 2, *_PAIR), 1),
    Op("min", lax.min_p, lax.min, np.minimum, real(-2, 2, *_PAIR), 1),
    Op("nextafter", lax.nextafter_p, lax.nextafter, np.nextafter, real(-2, 2, *_PAIR), rtol=0),
    Op("eq", lax.eq_p, lax.eq, np.equal, integers(0, 3, *_PAIR)),
    Op("ne", lax.ne_p, lax.ne, np.not_equal, integers(0, 3, *_PAIR)),
    Op("lt", lax.lt_p, lax.lt, np.less, real(-2, 2, *_PAIR)),
    Op("le", lax.le_p, lax.le, np.less_equal, integers(0, 3, *_PAIR)),
    Op("gt", lax.gt_p, lax.gt, np.greater, real(-2, 2, *_PAIR)),
    Op("ge", lax.ge_p, lax.ge, np.greater_equal, integers(0, 3, *_PAIR, dtype=np.uint8)),
    _unary(lax.is_finite_p, lax.is_finite, np.isfinite, lambda rng: (np.array([1, np.inf, np.nan], np.float32),), 0),
    _unary(lax.not_p, lax.bitwise_not, np.bitwise_not, integers(-9, 9), 0),
    Op("and", lax.and_p, lax.bitwise_and, np.bitwise_and, integers(0, 99, *_PAIR)),
    Op("or", lax.or_p, lax.bitwise_or, np.bitwise_or, integers(0, 99, *_PAIR)),
    Op("xor", lax.xor_p, lax.bitwise_xor, np.bitwise_xor, integers(0, 99, *_PAIR)),
    Op("or booleans", lax.or_p, lax.bitwise_or, np.bitwise_or, booleans(*_PAIR)),
    Op("shift_left", lax.shift_left_p, lax.shift_left, np.left_shift, both(integers(0, 99), integers(0, 8))),
    Op("shift_right_logical", lax.shift_right_logical_p, lax.shift_right_logical, lambda x, y: (x.view(np.uint32) >> y.view(np.uint32)).view(np.int32), both(integers(-99, 99), integers(0, 8))),
    Op("shift_right_arithmetic", lax.shift_right_arithmetic_p, lax.shift_right_arithmetic, np.right_shift, both(integers(-99, 99), integers(0, 8))),
    _unary(lax.population_count_p, lax.population_count, lambda x: np.bitwise_count(x.view(np.uint32)).astype(np.int32), integers(-99, 99), 0),
    _unary(lax.clz_p, lax.clz, lambda x: np.where(x == 0, 32, 31 - np.floor(np.log2(np.maximum(x, 1)))).astype(np.int32), integers(0, 999), 0),
    _unary(lax.real_p, lax.real, np.real, lambda rng: (_complex(rng),), 0),
    _unary(lax.imag_p, lax.imag, np.imag, lambda rng: (_complex(rng),), 0),
    _unary(lax.conj_p, lax.conj, np.conj, lambda rng: (_complex(rng),), 0),
    Op("complex", lax.complex_p, lax.complex, lambda x, y: x + 1j * y, real(-2, 2, *_PAIR)),
    Op("select_n", select_n_p, lax.select_n, lambda w, a, b: np.where(w, b, a), both(booleans(_M), real(-2, 2, *_PAIR)), 2),
    Op("select_n of three", select_n_p, lax.select_n, lambda w, *c: np.choose(w, c), both(integers(0, 3), real(-2, 2, *_PAIR, _M)), 2),
    Op("clamp", lax.clamp_p, lambda x: lax.clamp(x.dtype.type(-1), x, x.dtype.type(1)), lambda x: np.clip(x, -1, 1), real(-2, 2), 1),
    Op("convert_element_type", convert_element_type_p, lambda x: lax.convert_element_type(x, np.float16), lambda x: x.astype(np.float16), real(-2, 2), rtol=0),
    Op("convert float to int", convert_element_type_p, lambda x: lax.convert_element_type(x, np.int32), lambda x: x.astype(np.int32), real(-9, 9)),
    Op("bitcast_convert_type", lax.bitcast_convert_type_p, lambda x: lax.bitcast_convert_type(x, np.int32), lambda x: x.view(np.int32), real(-2, 2), rtol=0),
    _unary(lax.stop_gradient_p, lax.stop_gradient, lambda x: x, real(-2, 2), 0),
    _unary(lax.copy_p, lax.copy_p.bind, lambda x: x, real(-2, 2)),
)  # fmt: skip


def _complex(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    return (rng.uniform(-2, 2, _M) + 1j * rng.uniform(-2, 2, _M)).astype(np.complex64)


STRUCTURAL: Sequence[Op] = (
    Op("reshape", reshape_p, lambda x: lax.reshape(x, (2, 6)), lambda x: x.reshape(2, 6), real(-2, 2), 2),
    Op("broadcast_in_dim", broadcast_in_dim_p, lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)), lambda x: np.broadcast_to(x, (2, 3, 4)), real(-2, 2), 2),
    Op("transpose", transpose_p, lambda x: lax.transpose(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1), real(-2, 2, (2, 3, 4)), 2),
    Op("reduce_sum", reduce_sum_p, lambda x: lax.reduce_sum(x, (0,)), lambda x: x.sum(0), real(-2, 2), 2, rtol=1e-5),
)  # fmt: skip

OPS: list[Op] = [*ELEMENTWISE, *STRUCTURAL]
