"""Rows of reductions, cumulative reductions, and products of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from plugjax import lax
from plugjax.extend.core import reduce_sum_p
from plugjax.lax.ragged import ragged_dot_general_p
from plugjax.lax.scaled_dot import scaled_dot_p
from plugjax.testing.row import Op, Sampler, booleans, both, in_float64, integers, real


def _dot(
    name: str,
    subscripts: str,
    numbers: Any,
    *shapes: tuple[int, ...],
    sample: Sampler | None = None,
    preferred: Any = None,
    order: int = 2,
) -> Op:
    """A product of two arrays, as ``subscripts`` for ``np.einsum`` and ``numbers`` for ``dot_general``."""

    def call(lax: Any, x: Any, y: Any) -> Any:
        return lax.dot_general(x, y, numbers, preferred_element_type=preferred)

    def oracle(x: Any, y: Any) -> Any:
        wide = np.int64 if x.dtype.kind == "i" else np.float64
        return np.einsum(subscripts, x.astype(wide), y.astype(wide))

    chosen = real(-1, 1, *shapes) if sample is None else sample
    return Op(name, lax.dot_general_p, call, oracle, chosen, order, rtol=1e-5)


def _cumulative(name: str, ufunc: Any, order: int, low: float = -2.0) -> list[Op]:
    """Cumulative reductions along an axis, in both directions."""
    primitive = getattr(lax, f"{name}_p")

    def forward(lax: Any, x: Any) -> Any:
        return getattr(lax, name)(x, axis=1)

    def backward(lax: Any, x: Any) -> Any:
        return getattr(lax, name)(x, axis=0, reverse=True)

    wide = in_float64(lambda x: ufunc.accumulate(x, 1))
    turned = in_float64(lambda x: ufunc.accumulate(x[::-1], 0)[::-1])
    sample = real(low, 2, (3, 5))
    return [
        Op(name, primitive, forward, wide, sample, order, rtol=1e-5),
        Op(f"{name} reverse", primitive, backward, turned, sample, order, rtol=1e-5),
    ]


def _over(name: str, axes: tuple[int, ...]) -> Callable[..., Any]:
    return lambda lax, x: getattr(lax, name)(x, axes)


def _extreme_index(name: str) -> Callable[..., Any]:
    return lambda lax, x: getattr(lax, name)(x, 1, np.int32)


def _ragged(x: Any, y: Any, sizes: Any) -> Any:
    """Rows of each group times the group's matrix."""
    found = np.zeros((len(x), y.shape[2]))
    ends = np.cumsum(sizes)
    for matrix, end, size in zip(y, ends, sizes, strict=True):
        found[end - size : end] = x[end - size : end] @ matrix
    return found


def _scaled_dot(lax: Any, x: Any, y: Any, s: Any) -> Any:
    scale = lax.bitcast_convert_type(s, ml_dtypes.float8_e8m0fnu)
    return lax.scaled_dot(x, y, lhs_scale=scale, preferred_element_type=np.float32)


def _small(rng: np.random.Generator) -> tuple[Any, ...]:
    x, y = (rng.integers(-8, 9, s).astype(ml_dtypes.float8_e4m3fn) for s in ((3, 8), (8, 4)))
    return x, y, rng.integers(124, 131, (3, 2)).astype(np.uint8)


REDUCTIONS: Sequence[Op] = (
    Op("reduce_sum", reduce_sum_p, _over("reduce_sum", (0,)), lambda x: x.sum(0), real(-2, 2), 2,
       rtol=1e-5),
    Op("reduce_sum of all", reduce_sum_p, _over("reduce_sum", (0, 1)), lambda x: x.sum(),
       real(-2, 2), 2, rtol=1e-5),
    Op("reduce_sum integers", reduce_sum_p, _over("reduce_sum", (1,)), lambda x: x.sum(1),
       integers(-9, 9)),
    Op("reduce_max", lax.reduce_max_p, _over("reduce_max", (1,)), lambda x: x.max(1), real(-2, 2),
       2),
    Op("reduce_min", lax.reduce_min_p, _over("reduce_min", (0,)), lambda x: x.min(0), real(-2, 2),
       2),
    Op("reduce_prod", lax.reduce_prod_p, _over("reduce_prod", (1,)), lambda x: x.prod(1),
       real(-2, 2), 2, rtol=1e-5),
    Op("reduce_prod of zeros", lax.reduce_prod_p, _over("reduce_prod", (1,)), lambda x: x.prod(1),
       lambda rng: (np.array([[0, 2, 3], [0, 2, 0], [1, 2, 3]], np.float32),), 2),
    Op("reduce_and", lax.reduce_and_p, _over("reduce_and", (0,)),
       lambda x: np.bitwise_and.reduce(x, 0), integers(0, 99)),
    Op("reduce_or", lax.reduce_or_p, _over("reduce_or", (1,)), lambda x: np.bitwise_or.reduce(x, 1),
       integers(0, 99)),
    Op("reduce_or booleans", lax.reduce_or_p, _over("reduce_or", (1,)), lambda x: x.any(1),
       booleans((3, 4))),
    Op("reduce_xor", lax.reduce_xor_p, _over("reduce_xor", (0, 1)),
       lambda x: np.bitwise_xor.reduce(x, (0, 1)), integers(0, 99)),
    Op("argmax", lax.argmax_p, _extreme_index("argmax"), lambda x: x.argmax(1), real(-2, 2)),
    Op("argmin", lax.argmin_p, _extreme_index("argmin"), lambda x: x.argmin(1), real(-2, 2)),
    Op("argmax with ties", lax.argmax_p, _extreme_index("argmax"), lambda x: x.argmax(1),
       integers(0, 3, (5, 6))),
    *_cumulative("cumsum", np.add, 2),
    *_cumulative("cumprod", np.multiply, 2, 0.5),
    *_cumulative("cummax", np.maximum, 1),
    *_cumulative("cummin", np.minimum, 1),
    *_cumulative("cumlogsumexp", np.logaddexp, 2),
    Op("ragged_dot", ragged_dot_general_p, "ragged_dot", _ragged,
       both(real(-1, 1, (5, 3), (2, 3, 4)), lambda rng: (np.array([3, 1], np.int32),)), 2,
       rtol=1e-5),
    Op("scaled_dot", scaled_dot_p, _scaled_dot,
       lambda x, y, s: (x.astype(float) * np.repeat(2.0 ** (s - 127.0), 4, 1)) @ y.astype(float),
       _small),
    _dot("dot_general", "ij,jk->ik", (((1,), (0,)), ((), ())), (3, 4), (4, 2)),
    _dot("dot_general of vectors", "i,i->", (((0,), (0,)), ((), ())), (4,), (4,)),
    _dot("dot_general outer", "i,jk->ijk", (((), ()), ((), ())), (3,), (2, 4)),
    _dot("dot_general with a batch", "bij,bjk->bik", (((2,), (1,)), ((0,), (0,))), (2, 3, 4),
       (2, 4, 5)),
    _dot("dot_general with axes moved", "bicj,jbdc->bcid", (((3,), (0,)), ((0, 2), (1, 3))),
       (2, 3, 4, 5), (5, 2, 6, 4)),
    _dot("dot_general over two axes", "aibj,jkb->aik", (((3, 2), (0, 2)), ((), ())), (2, 3, 4, 5),
       (5, 6, 4)),
    _dot("dot_general integers", "ij,jk->ik", (((1,), (0,)), ((), ())),
       sample=integers(-9, 9, (3, 4), (4, 2)), order=0),
    _dot("dot_general preferred integers", "ij,jk->ik", (((1,), (0,)), ((), ())),
       sample=integers(-99, 99, (3, 4), (4, 2), dtype=np.int8), preferred=np.int32, order=0),
    _dot("dot_general preferred floats", "ij,jk->ik", (((1,), (0,)), ((), ())),
       sample=real(-1, 1, (3, 4), (4, 2), dtype=ml_dtypes.bfloat16), preferred=np.float32, order=0),
)  # fmt: skip
