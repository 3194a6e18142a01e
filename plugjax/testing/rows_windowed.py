"""Rows of convolutions and of reductions over windows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

import plugjax
from plugjax import lax
from plugjax.extend.core import aval_of
from plugjax.testing.row import Op, complexes, in_float64, integers, real


def convolved(
    x: Any,
    k: Any,
    strides: Sequence[int],
    pads: Sequence[tuple[int, int]],
    feature_groups: int = 1,
    batch_groups: int = 1,
) -> Any:
    """Convolution by its definition, one window at a time; axes as ``NC...``, ``OI...``, ``NC...``."""
    wide = {"i": np.int64, "c": np.complex128}.get(x.dtype.kind, np.float64)
    x = np.pad(x.astype(wide), ((0, 0), (0, 0), *pads))
    k = k.astype(wide)
    window = k.shape[2:]
    counts = [(n - w) // s + 1 for n, w, s in zip(x.shape[2:], window, strides, strict=True)]
    batch, each = x.shape[0] // batch_groups, k.shape[0] // (feature_groups * batch_groups)
    out: Any = np.zeros((batch, k.shape[0], *counts), wide)
    for o in range(k.shape[0]):
        group, inputs = o // each, k.shape[1]
        part = x[group * batch : (group + 1) * batch] if batch_groups > 1 else x
        if feature_groups > 1:
            part = part[:, group * inputs : (group + 1) * inputs]
        for place in itertools.product(*map(range, counts)):
            at: list[Any] = [
                slice(p * s, p * s + w) for p, s, w in zip(place, strides, window, strict=True)
            ]
            seen = part[:, :, *at]
            out[:, o, *place] = np.tensordot(seen, k[o], x.ndim - 1)
    return out


def _spread(x: Any, dilation: Sequence[int]) -> Any:
    shape = (*x.shape[:2], *((n - 1) * d + 1 for n, d in zip(x.shape[2:], dilation, strict=True)))
    out = np.zeros(shape, x.dtype)
    out[(slice(None), slice(None), *(slice(None, None, d) for d in dilation))] = x
    return out


def _conv(lax: Any, x: Any, k: Any, *args: Any, **options: Any) -> Any:
    return lax.conv_general_dilated(x, k, *args, **options)


def boxed(x: Any, ufunc: Any, neutral: Any, pads: Any, window: Any, strides: Any) -> Any:
    """Windows by their definition: a box of the padded array at every stride."""
    x = np.pad(x, pads, constant_values=neutral)
    counts = [(n - w) // s + 1 for n, w, s in zip(x.shape, window, strides, strict=True)]
    out = np.empty(counts, x.dtype)
    for place in itertools.product(*map(range, counts)):
        at = tuple(slice(p * s, p * s + w) for p, s, w in zip(place, strides, window, strict=True))
        out[place] = ufunc.reduce(x[at], axis=None)
    return out


_BOX: tuple[Any, ...] = (((1, 0), (0, 2)), (2, 3), (1, 2))


def _over_boxes(name: str, neutral: Any) -> Any:
    pads, window, strides = _BOX
    return lambda lax, x: lax.reduce_window(x, neutral, getattr(lax, name), window, strides, pads)


def _multiplied(lax: Any, x: Any) -> Any:
    return lax.reduce_window(x, 1.0, lambda a, b: a * b, (2, 3), (1, 2), "VALID")


def _places(x: Any) -> Any:
    """The position of the greatest element of each box of 2 by 2, at strides 1 and 2, without padding."""
    places = np.arange(x.size).reshape(x.shape)
    boxes = [
        np.lib.stride_tricks.sliding_window_view(v, (2, 2))[:, ::2].reshape(-1, 4)
        for v in (x, places)
    ]
    return np.take_along_axis(boxes[1], boxes[0].argmax(1)[:, None], 1)


def _written(source: Any, x: Any) -> Any:
    y = np.zeros_like(x)
    np.add.at(y.reshape(-1), _places(x)[:, 0], source.reshape(-1))
    return y


def _selected(lax: Any, dot: Any, x: Any) -> Any:
    ones = (1, 1)
    return lax.select_and_gather_add_p.bind(
        dot, x, select_prim=lax.ge_p, window_dimensions=(2, 2), window_strides=(1, 2),
        padding=((0, 0), (0, 0)), base_dilation=ones, window_dilation=ones,
    )  # fmt: skip


def _scattered(lax: Any, source: Any, x: Any) -> Any:
    return lax.select_and_scatter_add_p.bind(
        source, x, select_prim=lax.ge_p, window_dimensions=(2, 2), window_strides=(1, 2),
        padding=((0, 0), (0, 0)),
    )  # fmt: skip


def _scattered_by(lax: Any, source: Any, x: Any) -> Any:
    zero = np.zeros((), aval_of(x).dtype)[()]
    return lax.select_and_scatter_p.bind(
        x, source, zero, select_jaxpr=plugjax.make_jaxpr(lax.ge)(zero, zero),
        scatter_jaxpr=plugjax.make_jaxpr(lax.add)(zero, zero), window_dimensions=(2, 2),
        window_strides=(1, 2), padding=((0, 0), (0, 0)),
    )  # fmt: skip


_NHWC = ("NHWC", "HWIO", "NHWC")

WINDOWED: Sequence[Op] = (
    Op("reduce_window_sum", lax.reduce_window_sum_p, _over_boxes("add", 0.0),
       in_float64(lambda x: boxed(x, np.add, 0, *_BOX)), real(-2, 2, (4, 5)), 2, rtol=1e-5),
    Op("reduce_window_max", lax.reduce_window_max_p, _over_boxes("max", -np.inf),
       in_float64(lambda x: boxed(x, np.maximum, -np.inf, *_BOX)), real(-2, 2, (4, 5)), 1),
    Op("reduce_window_min", lax.reduce_window_min_p, _over_boxes("min", np.inf),
       in_float64(lambda x: boxed(x, np.minimum, np.inf, *_BOX)), real(-2, 2, (4, 5)), 1),
    Op("reduce_window", lax.reduce_window_p, _multiplied,
       in_float64(lambda x: boxed(x, np.multiply, 1, ((0, 0), (0, 0)), *_BOX[1:])),
       real(0.5, 2, (4, 5)), 2, rtol=1e-5),
    Op("select_and_gather_add", lax.select_and_gather_add_p, _selected,
       lambda dot, x: dot.reshape(-1)[_places(x)].reshape(3, 2), real(-2, 2, (4, 5), (4, 5)), 2,
       wrt=(0,)),
    Op("select_and_scatter_add", lax.select_and_scatter_add_p, _scattered, _written,
       real(-2, 2, (3, 2), (4, 5)), 2, wrt=(0,)),
    Op("select_and_scatter", lax.select_and_scatter_p, _scattered_by, _written,
       real(-2, 2, (3, 2), (4, 5)), 2, wrt=(0,), without_jax="JAX writes programs in another way"),
    Op("reduce", lax.reduce_p, lambda lax, x: lax.reduce(x, 1.0, lambda a, b: a * b, (1,)),
       in_float64(lambda x: x.prod(1)), real(0.5, 2, (4, 5)), 2, rtol=1e-5),
    Op("conv_general_dilated", lax.conv_general_dilated_p,
       lambda lax, x, k: _conv(lax, x, k, (1, 2), ((1, 1), (0, 2))),
       lambda x, k: convolved(x, k, (1, 2), ((1, 1), (0, 2))),
       real(-1, 1, (2, 3, 5, 6), (4, 3, 3, 2)), 2, rtol=1e-5),
    Op("conv_general_dilated in one dimension", lax.conv_general_dilated_p,
       lambda lax, x, k: _conv(lax, x, k, (1,), "SAME"),
       lambda x, k: convolved(x, k, (1,), ((1, 1),)), real(-1, 1, (2, 3, 5), (4, 3, 3)), 2,
       rtol=1e-5),
    Op("conv_general_dilated features last", lax.conv_general_dilated_p,
       lambda lax, x, k: _conv(lax, x, k, (1, 1), "VALID", dimension_numbers=_NHWC),
       lambda x, k: convolved(x.transpose(0, 3, 1, 2), k.transpose(3, 2, 0, 1), (1, 1),
                              ((0, 0), (0, 0))).transpose(0, 2, 3, 1),
       real(-1, 1, (2, 5, 6, 3), (3, 2, 3, 4)), 2, rtol=1e-5),
    Op("conv_general_dilated with dilations", lax.conv_general_dilated_p,
       lambda lax, x, k: _conv(lax, x, k, (2, 1), ((1, 0), (2, 2)), (2, 1), (1, 2)),
       lambda x, k: convolved(_spread(x, (2, 1)), _spread(k, (1, 2)), (2, 1), ((1, 0), (2, 2))),
       real(-1, 1, (2, 3, 4, 5), (4, 3, 3, 2)), 2, rtol=1e-5),
    Op("conv_general_dilated with groups of features", lax.conv_general_dilated_p,
       lambda lax, x, k: _conv(lax, x, k, (1, 1), "VALID", feature_group_count=2),
       lambda x, k: convolved(x, k, (1, 1), ((0, 0), (0, 0)), 2),
       real(-1, 1, (2, 4, 4, 5), (6, 2, 3, 2)), 2, rtol=1e-5),
    Op("conv_general_dilated with groups of the batch", lax.conv_general_dilated_p,
       lambda lax, x, k: _conv(lax, x, k, (1,), "VALID", batch_group_count=2),
       lambda x, k: convolved(x, k, (1,), ((0, 0),), 1, 2), real(-1, 1, (4, 3, 5), (6, 3, 2)), 2,
       rtol=1e-5),
    Op("conv_general_dilated cut off", lax.conv_general_dilated_p,
       lambda lax, x, k: _conv(lax, x, k, (2,), ((-1, -2),)),
       lambda x, k: convolved(x[:, :, 1:-2], k, (2,), ((0, 0),)),
       real(-1, 1, (2, 3, 9), (4, 3, 3)), 2, rtol=1e-5),
    Op("conv_general_dilated integers", lax.conv_general_dilated_p,
       lambda lax, x, k: _conv(lax, x, k, (1,), "VALID"),
       lambda x, k: convolved(x, k, (1,), ((0, 0),)), integers(-9, 9, (2, 3, 5), (4, 3, 2))),
    Op("conv_general_dilated complex", lax.conv_general_dilated_p,
       lambda lax, x, k: _conv(lax, x, k, (1,), "VALID"),
       lambda x, k: convolved(x, k, (1,), ((0, 0),)), complexes((2, 3, 5), (4, 3, 2)),
       rtol=1e-5),
)  # fmt: skip
