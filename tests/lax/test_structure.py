"""Structural primitives against JAX: values, dtypes, weak types, derivatives and batching, row by row."""

import itertools
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from jax import lax as jlax

import plugjax_numpy.plugin as numpy_plugin
from plugjax import lax
from plugjax.calls import plugin as calls_plugin
from plugjax.core.dtypes import ExtendedDType
from plugjax.core.jaxpr import eval_closed
from plugjax.core.registry import use
from plugjax.extend.core import ShapedArray, aval_of
from plugjax.extend.registry import Registry
from plugjax.lax import plugin as lax_plugin
from plugjax.numpy import plugin as numpy_api_plugin
from plugjax.transforms.batching import vmap
from plugjax.transforms.grad import jvp, vjp
from plugjax.transforms.physical import physicalize
from plugjax.transforms.staging import stage


@pytest.fixture(autouse=True, scope="module")
def _registry():
    with use(Registry().load(calls_plugin, lax_plugin, numpy_api_plugin, numpy_plugin)):
        yield


RNG = np.random.default_rng(0)


def f32(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def i32(*shape, low=-5, high=6):
    return RNG.integers(low, high, shape).astype(np.int32)


def tied(*shape):
    return RNG.integers(-2, 3, shape).astype(np.float32)


@dataclass
class Row:
    """A function of ``lax`` (by name in both packages), operands, and further arguments."""

    name: str
    operands: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    differentiable: bool = True
    tolerance: float = 1e-5
    call: Callable[..., Any] | None = None
    batched: bool = True

    def __str__(self):
        shapes = ",".join(
            str(np.asarray(x).dtype) + str(np.shape(x)).replace(" ", "") for x in self.operands
        )
        return f"{self.name}-{shapes}-{self.kwargs}".replace(" ", "")[:150]

    def function(self, module):
        if self.call is not None:
            return partial(self.call, module)
        return partial(getattr(module, self.name), **self.kwargs)


def R(name, *operands, **options):  # noqa: N802  # reads as a table
    own = {
        k: options.pop(k)
        for k in ("differentiable", "tolerance", "call", "batched")
        if k in options
    }
    return Row(name, operands, options, **own)


def gather_row(operand, indices, numbers, sizes, mode=None, **kwargs):
    def call(module, x, i):
        return module.gather(
            x, i, module.GatherDimensionNumbers(*numbers), sizes, mode=mode, **kwargs
        )

    return Row("gather", (operand, indices), {"n": numbers, "mode": mode}, call=call)


def scatter_row(name, operand, indices, updates, numbers, mode=None, unique=False, **options):
    def call(module, x, i, u):
        return getattr(module, name)(
            x, i, u, module.ScatterDimensionNumbers(*numbers), mode=mode, unique_indices=unique
        )

    return Row(
        name, (operand, indices, updates), {"n": numbers, "mode": mode}, call=call, **options
    )


PAD = (
    ((1, 2, 0), (0, 1, 2)),
    ((-1, 2, 1), (1, -2, 0)),
    ((-2, -1, 1), (3, -1, 2)),
    ((0, 0, 0), (0, 0, 1)),
)

SHAPE = [
    R("reshape", f32(2, 3), new_sizes=(3, 2)),
    R("reshape", f32(2, 3), new_sizes=(6,)),
    R("reshape", f32(2, 3), new_sizes=(3, 2), dimensions=(1, 0)),
    R("reshape", f32(0, 3), new_sizes=(3, 0, 2)),
    R("reshape", f32(), new_sizes=(1, 1)),
    R("broadcast", f32(2, 3), sizes=(4, 1)),
    R("broadcast_in_dim", f32(3), shape=(2, 3, 4), broadcast_dimensions=(1,)),
    R("broadcast_in_dim", f32(2, 1), shape=(2, 3, 4), broadcast_dimensions=(0, 2)),
    R("broadcast_in_dim", f32(1, 1), shape=(1, 3), broadcast_dimensions=(0, 1)),
    R("broadcast_in_dim", f32(1), shape=(0, 3), broadcast_dimensions=(0,)),
    R("broadcast_to_rank", f32(2, 3), rank=4),
    R("expand_dims", f32(2, 3), dimensions=(0, -1)),
    R("expand_dims", f32(2, 3), dimensions=(1,)),
    R("squeeze", f32(1, 2, 1, 3), dimensions=(0, -2)),
    R("squeeze", f32(1, 2, 1), dimensions=(2,)),
    R("rev", f32(2, 3, 2), dimensions=(0, 2)),
    R("transpose", f32(2, 3, 4), permutation=(2, 0, 1)),
    R("collapse", f32(2, 3, 4), start_dimension=1),
    R("collapse", f32(2, 3, 4), start_dimension=0, stop_dimension=2),
    R("collapse", f32(2, 3, 4), start_dimension=-2),
    R("concatenate", f32(2, 3), f32(2, 1), f32(2, 2), call=lambda m, *xs: m.concatenate(xs, 1)),
    R("concatenate", f32(2, 3), call=lambda m, *xs: m.concatenate(xs, 1)),
    R("concatenate", f32(2, 3), f32(0, 3), call=lambda m, *xs: m.concatenate(xs, 0)),
    R("split", f32(2, 5), sizes=(1, 4, 0), axis=-1),
    R("split", f32(4, 2), sizes=(1, 3)),
    *[R("pad", f32(3, 4), np.float32(0.5), padding_config=config) for config in PAD],
    R("pad", f32(), np.float32(0.5), padding_config=()),
    R("pad", f32(0, 2), np.float32(0.5), padding_config=((1, 1, 3), (0, 0, 0))),
    R("full_like", f32(2, 3), fill_value=2, differentiable=False),
]

SLICING = [
    R("slice", f32(4, 6), start_indices=(1, 2), limit_indices=(3, 6)),
    R("slice", f32(4, 6), start_indices=(1, 0), limit_indices=(4, 6), strides=(2, 4)),
    R("slice", f32(4, 7), start_indices=(1, 0), limit_indices=(4, 6), strides=(5, 3)),
    R("slice", f32(4, 6), start_indices=(3, 2), limit_indices=(3, 6), strides=(2, 1)),
    R("slice", f32(), start_indices=(), limit_indices=()),
    R("slice_in_dim", f32(4, 6), start_index=-3, limit_index=None, stride=2, axis=1),
    R("slice_in_dim", f32(4, 6), start_index=None, limit_index=-1, axis=-2),
    R("index_in_dim", f32(4, 6), index=-1, axis=1, keepdims=False),
    R("index_in_dim", f32(4, 6), index=2),
    *[
        R("dynamic_slice", f32(4, 6), np.int32(a), np.int32(b),
          call=lambda m, x, a, b: m.dynamic_slice(x, (a, b), (2, 3)))
        for a, b in [(0, 0), (1, 2), (-1, 5), (7, -20)]
    ],
    R("dynamic_slice", f32(4, 6), i32(2), call=lambda m, x, i: m.dynamic_slice(x, i, (2, 6))),
    R("dynamic_slice", f32(4, 6), np.uint8(3), call=lambda m, x, i: m.dynamic_slice(x, (i, i), (2,
    6))),
    R("dynamic_slice", f32(), call=lambda m, x: m.dynamic_slice(x, (), ())),
    R("dynamic_slice", f32(4), np.int32(3),
      call=lambda m, x, i: m.dynamic_slice(x, (i,), (2,), allow_negative_indices=False)),
    R("dynamic_slice_in_dim", f32(4, 6), np.int32(3), slice_size=2, axis=1),
    R("dynamic_index_in_dim", f32(4, 6), np.int32(-3), axis=1, keepdims=False),
    *[
        R("dynamic_update_slice", f32(4, 6), f32(2, 3), np.int32(a), np.int32(b),
          call=lambda m, x, u, a, b: m.dynamic_update_slice(x, u, (a, b)))
        for a, b in [(0, 0), (1, 2), (-1, 5), (7, -20)]
    ],
    R("dynamic_update_slice", f32(), f32(), call=lambda m, x, u: m.dynamic_update_slice(x, u, ())),
    R("dynamic_update_slice_in_dim", f32(4, 6), f32(4, 2), np.int32(3), axis=1),
    R("dynamic_update_index_in_dim", f32(4, 6), f32(4), np.int32(3), axis=1),
    R("dynamic_update_index_in_dim", f32(4, 6), f32(4, 1), np.int32(3), axis=1),
]  # fmt: skip

X345 = f32(3, 4, 5)
GATHER_CASES = [
    # Rows, columns, points, windows, batching axes, scalars.
    (f32(4, 3), i32(5, 1), ((1,), (0,), (0,)), (1, 3)),
    (f32(4, 3), i32(2, 5, 1), ((2,), (0,), (0,)), (1, 3)),
    (f32(4, 3), i32(5, 1), ((0,), (1,), (1,)), (4, 1)),
    (f32(4, 3), i32(5, 2), ((), (0, 1), (0, 1)), (1, 1)),
    (f32(4, 3), i32(5, 2), ((), (0, 1), (1, 0)), (1, 1)),
    (f32(4, 3), i32(5, 2), ((1, 2), (), (0, 1)), (2, 2)),
    (f32(4, 3), i32(2, 5, 2), ((0, 2), (), (0, 1)), (2, 3)),
    (X345, i32(2, 2), ((0,), (0, 2), (2, 0)), (1, 4, 1)),
    (X345, i32(2, 2), ((0, 2), (2,), (2, 0)), (2, 3, 1)),
    (X345, i32(2, 1), ((1, 2), (1,), (1,)), (3, 1, 2)),
    (X345, i32(3, 2, 1), ((1,), (1,), (1,), (0,), (0,)), (1, 1, 5)),
    (X345, i32(2, 3, 1), ((2,), (1,), (1,), (0,), (1,)), (1, 1, 5)),
    (X345, i32(3, 5, 1), ((1,), (), (1,), (0, 2), (0, 1)), (1, 2, 1)),
    (f32(4), i32(1), ((), (0,), (0,)), (1,)),
    (f32(4), i32(1), ((0,), (), (0,)), (3,)),
    (f32(4, 3), i32(2, 0), ((1, 2), (), ()), (4, 3)),
    (f32(4, 3), i32(2, 0), ((1, 2), (), ()), (2, 3)),
    (f32(4, 3), i32(0, 1), ((1,), (0,), (0,)), (1, 3)),
    (f32(4, 0), i32(2, 1), ((1,), (0,), (0,)), (1, 0)),
    (f32(1, 3), i32(5, 1), ((1,), (0,), (0,)), (1, 3)),
    (i32(4, 3), i32(5, 1), ((1,), (0,), (0,)), (1, 3)),
    (f32(4, 3) > 0, i32(5, 1), ((1,), (0,), (0,)), (1, 3)),
    (f32(4, 3).astype(ml_dtypes.bfloat16), i32(5, 1), ((1,), (0,), (0,)), (1, 3)),
]
GATHER = [gather_row(*case, mode=mode) for case in GATHER_CASES for mode in ("clip", "fill")] + [
    gather_row(*GATHER_CASES[0], mode="fill", fill_value=7)
]


def in_bounds(case):
    operand, indices, numbers, sizes = case
    limits = [operand.shape[d] - sizes[d] + 1 for d in numbers[2]]
    safe = np.stack([indices[..., k] % n for k, n in enumerate(limits)], -1) if limits else indices
    return operand, safe.astype(indices.dtype), numbers, sizes


def updates_like(case):
    operand, indices, numbers, sizes = case
    shape = jax.eval_shape(
        lambda x, i: jlax.gather(x, i, jlax.GatherDimensionNumbers(*numbers), sizes),
        operand,
        indices,
    ).shape
    return f32(*shape).astype(operand.dtype)


SCATTER = [
    scatter_row(
        name, case[0], case[1], updates_like(case), case[2], mode,
        tolerance=2e-2 if case[0].dtype.itemsize == 2 else 1e-5,
        # JAX 0.10.2 gives inf here: it divides by counts that it reads without clipping.
        differentiable=not (mode == "clip" and name in ("scatter_max", "scatter_min")),
    )
    for case in GATHER_CASES
    for mode in ("clip", None)
    for name in ("scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul",
    "scatter_sub")
    if not (case[0].dtype == bool and name not in ("scatter", "scatter_max", "scatter_min"))
]  # fmt: skip
UNIQUE = np.array([[2], [0], [7]], np.int32)
SCATTER += [
    scatter_row(name, f32(5, 3), UNIQUE, f32(3, 3), ((1,), (0,), (0,)), None, True)
    for name in ("scatter", "scatter_add", "scatter_mul", "scatter_max")
]
SCATTER += [
    scatter_row(
        name, tied(3, 2), np.array([[0], [0], [2], [2]], np.int32), tied(4, 2), ((1,), (0,), (0,))
    )
    for name in ("scatter_max", "scatter_min", "scatter")
]

NAN = np.array([[1, np.nan, 3, np.nan], [np.inf, -np.inf, 0.0, -0.0]], np.float32)
ZEROS = np.array([[0, 2, 3, 1], [0, 2, 0, 4], [1, 2, 3, 4]], np.float32)
REDUCTION = [
    *[
        R(name, x, axes=axes, tolerance=2e-2 if x.dtype.itemsize == 2 else 1e-5)
        for name in ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod")
        for axes in ((), (0,), (1,), (0, 1), (1, 0))
        for x in (f32(3, 4), tied(3, 4), ZEROS, i32(3, 4), i32(3, 4).astype(np.int8), f32(3,
        4).astype(np.float16),
                  f32(3, 4).astype(ml_dtypes.bfloat16), (f32(3, 4) + 1j * f32(3,
                  4)).astype(np.complex64))
        if not (x.dtype.kind == "c" and name in ("reduce_max", "reduce_min"))
    ],
    R("reduce_max", NAN, axes=(1,), differentiable=False),
    R("reduce_min", NAN, axes=(1,), differentiable=False),
    R("reduce_max", f32(3, 4) + 1j * f32(3, 4).astype(np.complex64), axes=(1,),
    differentiable=False),
    *[R(name, f32(0, 2), axes=(0,)) for name in ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod")],
    *[R(name, i32(0, 2), axes=(0,)) for name in ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod")],
    *[R(name, i32(0, 2).astype(np.uint8), axes=(0,)) for name in ("reduce_max", "reduce_min")],
    *[R(name, f32(0, 2) > 0, axes=(0,)) for name in ("reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor")],
    *[
        R(name, x, axes=axes)
        for name in ("reduce_and", "reduce_or", "reduce_xor")
        for axes in ((), (0,), (0, 1))
        for x in (f32(3, 4) > 0, i32(3, 4), i32(3, 4).astype(np.uint8))
    ],
    *[
        R(name, x, axis=axis, index_dtype=dtype)
        for name in ("argmax", "argmin")
        for axis, dtype in ((0, np.int32), (1, np.int8))
        for x in (f32(2, 4), tied(2, 4), NAN, NAN.astype(ml_dtypes.bfloat16), i32(2, 4), f32(2, 4)
        > 0)
    ],
    *[
        R(name, x, axis=axis, reverse=reverse, tolerance=tolerance)
        for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
        for axis in (0, 1)
        for reverse in (False, True)
        for x, tolerance in ((f32(3, 5), 1e-5), (tied(4, 6), 1e-5), (ZEROS, 1e-5), (f32(1, 2),
        1e-5), (f32(0, 3), 1e-5),
                             (f32(3, 7).astype(np.float16), 1e-2))
    ],
    *[R(name, i32(3, 5), axis=1) for name in ("cumsum", "cumprod", "cummax", "cummin")],
    R("cumsum", i32(3, 500, low=0, high=120).astype(np.int8), axis=1),
    R("cumsum", (f32(3, 5) + 1j * f32(3, 5)).astype(np.complex64), axis=1),
    R("cumlogsumexp", np.array([-np.inf, -np.inf, 1.0, np.inf], np.float32), axis=0,
    differentiable=False),
    R("cumlogsumexp", (f32(3, 5) + 1j * f32(3, 5)).astype(np.complex64), axis=1,
    differentiable=False),
]  # fmt: skip


def dot_row(x, y, numbers, **kwargs):
    wide = x.dtype.itemsize >= 4 and y.dtype.itemsize >= 4
    return Row(
        "dot_general",
        (x, y),
        {"dimension_numbers": numbers, **kwargs},
        tolerance=1e-5 if wide else 3e-2,
    )


MATRIX = (((1,), (0,)), ((), ()))
DOT = [
    dot_row(f32(3, 4), f32(4, 2), MATRIX),
    dot_row(f32(4), f32(4), (((0,), (0,)), ((), ()))),
    dot_row(f32(3, 4), f32(4), MATRIX),
    dot_row(f32(4), f32(4, 3), (((0,), (0,)), ((), ()))),
    dot_row(f32(4), f32(3, 4), (((0,), (1,)), ((), ()))),
    dot_row(f32(4), f32(3), (((), ()), ((), ()))),
    dot_row(f32(), f32(2, 3), (((), ()), ((), ()))),
    dot_row(f32(4), f32(4), (((), ()), ((0,), (0,)))),
    dot_row(f32(2, 3, 4), f32(2, 4, 5), (((2,), (1,)), ((0,), (0,)))),
    dot_row(f32(3, 2, 4), f32(4, 5, 2), (((2,), (0,)), ((1,), (2,)))),
    dot_row(f32(2, 3, 4, 5), f32(5, 2, 6, 3), (((1, 3), (3, 0)), ((0,), (1,)))),
    dot_row(f32(2, 3, 4, 5), f32(3, 5, 6), (((3, 1), (1, 0)), ((), ()))),
    dot_row(f32(2, 3, 4), f32(3, 2), (((), ()), ((0, 1), (1, 0)))),
    dot_row(f32(2, 3, 4), f32(4, 5), (((2,), (0,)), ((), ()))),
    dot_row(f32(3, 0), f32(0, 2), MATRIX),
    dot_row(f32(0, 3), f32(3, 2), MATRIX),
    dot_row(i32(3, 4), i32(4, 2), MATRIX),
    dot_row(i32(3, 4), f32(4, 2), MATRIX),
    dot_row(i32(3, 4).astype(np.int8), i32(4, 2).astype(np.int8), MATRIX,
    preferred_element_type=np.int32),
    dot_row(f32(3, 4) > 0, f32(4, 2) > 0, MATRIX),
    dot_row(*[(f32(4, 4) + 1j * f32(4, 4)).astype(np.complex64) for _ in range(2)], MATRIX),
    dot_row(f32(3, 4).astype(np.float16), f32(4, 2).astype(np.float16), MATRIX),
    dot_row(f32(3, 4).astype(ml_dtypes.bfloat16), f32(4, 2).astype(ml_dtypes.bfloat16), MATRIX),
    dot_row(f32(3, 4).astype(ml_dtypes.bfloat16), f32(4, 2).astype(ml_dtypes.bfloat16), MATRIX,
            preferred_element_type=np.float32),
    dot_row(f32(3, 4).astype(ml_dtypes.bfloat16), f32(4, 2), MATRIX),
    dot_row(f32(3, 4), f32(4, 2), MATRIX, precision="high"),
    R("dot", f32(3, 4), f32(4, 2)),
    R("batch_matmul", f32(2, 3, 4), f32(2, 4, 5)),
]  # fmt: skip

SORTING = [
    *[
        R("sort", x, dimension=d)
        for d in (0, -1)
        for x in (f32(4, 5), tied(4, 5), i32(4, 5), f32(4, 5) > 0, f32(4, 5).astype(np.float16),
                  f32(4, 5).astype(ml_dtypes.bfloat16), f32(0, 5))
    ],
    *[R("sort", NAN.astype(t), differentiable=False) for t in (np.float32, np.float16, ml_dtypes.bfloat16)],
    R("sort", (tied(3, 9) + 1j * tied(3, 9)).astype(np.complex64), differentiable=False),
    R("sort", tied(3, 7), f32(3, 7), call=lambda m, *xs: m.sort(xs, 1)),
    R("sort", tied(3, 7), tied(3, 7), f32(3, 7), call=lambda m, *xs: m.sort(xs, 0, num_keys=2)),
    R("sort", tied(3, 7), f32(3, 7), i32(3, 7), call=lambda m, *xs: m.sort(xs, 1, num_keys=2)),
    R("sort_key_val", tied(3, 7), i32(3, 7)),
    R("sort_key_val", NAN, f32(2, 4), differentiable=False),
    *[R("top_k", x, k=3) for x in (f32(4, 5), tied(4, 5), i32(4, 5), tied(7).astype(ml_dtypes.bfloat16), f32(4, 5) > 0)],
    R("top_k", f32(4, 5), k=5),
    R("top_k", f32(4, 5), k=0),
    R("top_k", f32(4, 5), k=2, axis=0),
    R("top_k", NAN, k=4, differentiable=False),
    R("top_k", -NAN, k=3, differentiable=False),
]  # fmt: skip

ROWS = [*SHAPE, *SLICING, *GATHER, *SCATTER, *REDUCTION, *DOT, *SORTING]
CHUNK = 20


def chunks(rows):
    """JAX compiles the rows of a chunk together, which takes little longer than one row."""
    rows = list(rows)
    parts = [rows[i : i + CHUNK] for i in range(0, len(rows), CHUNK)]
    ids = [f"{part[0].name}..{part[-1].name}-{i}" for i, part in enumerate(parts)]
    return pytest.mark.parametrize("part", parts, ids=ids)


@contextmanager
def named(row):
    """Errors name the row of a chunk."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the row: {row}")
        raise


def oracle(calls):
    """Results of several calls ``(function, *args)`` of JAX, compiled as one program."""
    functions = [function for function, *_ in calls]
    args = [tuple(args) for _, *args in calls]
    together = jax.jit(lambda args: [f(*xs) for f, xs in zip(functions, args, strict=True)])
    return together(args)


def leaves(tree):
    return list(tree) if isinstance(tree, (list, tuple)) else [tree]


def assert_same(found, expected, tolerance=1e-5, weak=True):
    found, expected = leaves(found), leaves(expected)
    assert len(found) == len(expected)
    for y, z in zip(found, expected, strict=True):
        assert y.shape == z.shape
        if z.dtype == jax.dtypes.float0:
            assert y.dtype.names == ("float0",)
            continue
        assert y.dtype == z.dtype
        if weak and hasattr(z, "weak_type"):
            assert aval_of(y).weak_type == z.weak_type
        a, b = np.asarray(y), np.asarray(z)
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        if a.dtype.kind in "fcV":
            wide = np.complex128 if a.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(
                a.astype(wide), b.astype(wide), rtol=tolerance, atol=tolerance
            )
        else:
            np.testing.assert_array_equal(a, b)


def differentiable(row):
    return row.differentiable and any(np.asarray(x).dtype.kind in "fcV" for x in row.operands)


def tangent(x):
    x = np.asarray(x)
    if x.dtype.kind not in "fcV":
        return np.zeros(x.shape, jax.dtypes.float0)
    if x.dtype.itemsize == 2:
        # Quarters, whose sums are exact: JAX rounds after each addition of a gather's transpose,
        # plugjax once.
        return (RNG.integers(-8, 9, x.shape) / 4).astype(x.dtype)
    return RNG.normal(size=x.shape).astype(x.dtype)


@pytest.mark.spread(8)
@chunks(ROWS)
def test_values(part):
    everything = oracle([(row.function(jlax), *row.operands) for row in part])
    for row, expected in zip(part, everything, strict=True):
        with named(row):
            before = [np.array(x) for x in row.operands]
            assert_same(row.function(lax)(*row.operands), expected, row.tolerance)
            for x, y in zip(row.operands, before, strict=True):
                assert np.asarray(x).tobytes() == y.tobytes()


def variable(row, module):
    """The row as a function of its differentiable operands, and the point."""
    function = row.function(module)
    if row.name == "scatter_mul":
        # JAX, too, has this derivative by the updates for unique indices only.
        return (lambda x: function(x, *row.operands[1:])), row.operands[:1]
    return function, row.operands


def derivatives(jvp, vjp, function, point, tangents, bars):
    return jvp(function, point, tangents), vjp(function, *point)[1](bars)


@pytest.mark.spread(16)
@chunks(r for r in ROWS if differentiable(r))
def test_derivatives(part):
    calls = []
    for row in part:
        with named(row):
            function, point = variable(row, lax)
            tangents = tuple(tangent(x) for x in point)
            bars = jax.tree.map(tangent, function(*point))
            theirs = partial(derivatives, jax.jvp, jax.vjp, variable(row, jlax)[0])
            calls.append((theirs, point, tangents, bars))
    everything = oracle(calls)
    for row, (_, *call), ((value, value_dot), x_bars) in zip(part, calls, everything, strict=True):
        with named(row):
            found, our_bars = derivatives(jvp, vjp, variable(row, lax)[0], *call)
            assert_same(found[0], value, row.tolerance)
            assert_same(found[1], value_dot, row.tolerance, weak=False)
            assert_same(our_bars, x_bars, row.tolerance, weak=False)


@pytest.mark.spread(2)
@chunks(r for r in ROWS if r.operands)
def test_batching(part):
    for row in part:
        with named(row):
            check_batching(row)


def check_batching(row):
    function = row.function(lax)
    ranks = [np.ndim(x) for x in row.operands]
    choices = [(None, 0) if rank == 0 else (None, 0, rank) for rank in ranks]
    combinations = [c for c in itertools.product(*choices) if any(d is not None for d in c)]
    if len(combinations) > 8:
        combinations = [combinations[i] for i in RNG.choice(len(combinations), 8, replace=False)]
    for axes in combinations:
        operands = []
        for x, d in zip(row.operands, axes, strict=True):
            stacked = [
                x,
                np.roll(x, 1, 0) if np.ndim(x) else np.asarray(x + np.asarray(x).dtype.type(1)),
            ]
            operands.append(x if d is None else np.stack(stacked, d))
        found = vmap(function, in_axes=axes)(*operands)
        instances = [
            leaves(
                function(
                    *[
                        x if d is None else np.take(x, i, d)
                        for x, d in zip(operands, axes, strict=True)
                    ]
                )
            )
            for i in range(2)
        ]
        expected = [np.stack([np.asarray(y) for y in ys]) for ys in zip(*instances, strict=True)]
        assert_same(found, expected, row.tolerance, weak=False)


def gradients(vmap, vjp, row, module, stacked, bars):
    """vmap of vjp, by the first operand that has a derivative."""
    position = first_inexact(row)
    function = row.function(module)

    def gradient(x, bar):
        def along(value):
            return function(*row.operands[:position], value, *row.operands[position + 1 :])

        return vjp(along, x)[1](bar)[0]

    return vmap(gradient)(stacked, bars)


def first_inexact(row):
    return next(i for i, x in enumerate(row.operands) if np.asarray(x).dtype.kind in "fcV")


@pytest.mark.spread(2)
@chunks([r for r in ROWS if differentiable(r)][::3])
def test_batched_derivatives(part):
    """vmap of vjp: the rules of the primitives in transposes are batched too."""
    calls = []
    for row in part:
        out = row.function(lax)(*row.operands)
        bars = jax.tree.map(
            lambda y: np.stack([tangent(np.zeros(y.shape, y.dtype)) for _ in range(3)]), out
        )
        stacked = np.stack([np.asarray(row.operands[first_inexact(row)])] * 3)
        calls.append((partial(gradients, jax.vmap, jax.vjp, row, jlax), stacked, bars))
    for row, (_, *call), expected in zip(part, calls, oracle(calls), strict=True):
        with named(row):
            found = gradients(vmap, vjp, row, lax, *call)
            assert_same(found, expected, 3 * row.tolerance, weak=False)


def test_starts_of_narrow_dtypes_count_from_the_end_of_long_axes():
    x = f32(300)
    np.testing.assert_array_equal(lax.dynamic_slice(x, (np.int8(-3),), (2,)), x[297:299])


def test_negative_start_where_none_is_allowed():
    with pytest.raises(ValueError, match="out of bounds"):
        lax.dynamic_slice(f32(4), (-1,), (2,), allow_negative_indices=False)


def test_derivative_of_clipped_scatter_max():
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    x, u = np.array([1, 2, 3], np.float32), np.array([4, 5], np.float32)

    def scatter_max(index, x, u):
        return lax.scatter_max(x, np.array([[0], [index]], np.int32), u, numbers, mode="clip")

    bar = np.array([1, 10, 100], np.float32)
    assert_same(
        vjp(partial(scatter_max, 7), x, u)[1](bar), vjp(partial(scatter_max, 2), x, u)[1](bar)
    )


class Pair(ExtendedDType):
    """Two uint32, as a random key is stored."""

    name = "pair"
    storage_dtype = np.dtype(np.uint32)
    storage_shape = (2,)


PAIR = Pair()
ROWS_OF_PAIRS = ((1,), (0,), (0,))
ON_PAIRS = {
    "reshape": lambda m, x: m.reshape(x, (4, 3)),
    "broadcast_in_dim": lambda m, x: m.broadcast_in_dim(x, (2, 3, 4), (1, 2)),
    "transpose": lambda m, x: m.transpose(x, (1, 0)),
    "squeeze": lambda m, x: m.squeeze(m.slice(x, (1, 0), (2, 4)), (0,)),
    "rev": lambda m, x: m.rev(x, (1,)),
    "concatenate": lambda m, x: m.concatenate([x, x], 1),
    "split": lambda m, x: m.split(x, (1, 3), 1)[1],
    "slice": lambda m, x: m.slice(x, (0, 1), (3, 4), (2, 1)),
    "dynamic_slice": lambda m, x: m.dynamic_slice(x, (np.int32(1), np.int32(3)), (2, 2)),
    "dynamic_update_slice": lambda m, x: m.dynamic_update_slice(
        x, m.slice(x, (0, 0), (1, 4)), (np.int32(2), np.int32(0))
    ),
    "gather": lambda m, x: m.gather(
        x, np.array([[2], [0]], np.int32), m.GatherDimensionNumbers(*ROWS_OF_PAIRS), (1, 4)
    ),
    "gather columns": lambda m, x: m.gather(
        x, np.array([[2], [0]], np.int32), m.GatherDimensionNumbers((0,), (1,), (1,)), (3, 1)
    ),
}


@pytest.mark.parametrize("name", ON_PAIRS)
def test_extended_dtypes(name):
    """On stored values an operation acts on each of the two numbers as on plain arrays."""
    stored = RNG.integers(0, 100, (3, 4, 2)).astype(np.uint32)
    program = physicalize(
        stage(lambda x: [ON_PAIRS[name](lax, x)], [ShapedArray((3, 4), PAIR)], name)
    )
    (found,) = eval_closed(program, stored)
    expected = np.stack([np.asarray(ON_PAIRS[name](jlax, stored[..., i])) for i in range(2)], -1)
    np.testing.assert_array_equal(np.asarray(found), expected)


Y = f32(2, 3)
ERRORS = [
    (TypeError, "total size", lambda m: m.reshape(Y, (7,))),
    (TypeError, "positive|negative", lambda m: m.reshape(Y, (-1,))),
    (ValueError, "takes out axes of size 1", lambda m: m.squeeze(Y, (0,))),
    (ValueError, "out of bounds", lambda m: m.squeeze(Y, (5,))),
    (TypeError, "out of range|nonnegative", lambda m: m.rev(Y, (-1,))),
    (TypeError, "unique", lambda m: m.rev(Y, (0, 0))),
    (TypeError, "permutation", lambda m: m.transpose(Y, (0,))),
    (TypeError, "out of bounds", lambda m: m.concatenate([Y, Y], 2)),
    (ValueError, "non-empty", lambda m: m.concatenate([], 0)),
    (TypeError, "dtypes", lambda m: m.concatenate([Y, i32(2, 3)], 0)),
    (TypeError, "same dtype", lambda m: m.pad(Y, 1, [(0, 0, 0)] * 2)),
    (ValueError, "length of padding_config", lambda m: m.pad(Y, 1.0, [(0, 0, 0)])),
    (ValueError, "at least 0", lambda m: m.pad(Y, 1.0, [(-5, 0, 0), (0, 0, 0)])),
    (ValueError, "nonnegative", lambda m: m.pad(Y, 1.0, [(0, 0, -1), (0, 0, 0)])),
    (ValueError, "sizes add up to", lambda m: m.split(Y, (1, 3), 1)),
    (TypeError, "iota does not accept", lambda m: m.iota(bool, 3)),
    (ValueError, "dimension", lambda m: m.broadcasted_iota(np.int32, (2, 3), 5)),
    (TypeError, "slice", lambda m: m.slice(Y, (0, 0), (3, 3))),
    (TypeError, "slice", lambda m: m.slice(Y, (0, 2), (2, 1))),
    (IndexError, "out of bounds", lambda m: m.index_in_dim(Y, 4)),
    (TypeError, "integers", lambda m: m.dynamic_slice(Y, (0.0, 0), (2, 1))),
    (ValueError, "Length of slice indices", lambda m: m.dynamic_slice(Y, (0,), (2, 1))),
    (TypeError, "slice_sizes", lambda m: m.dynamic_slice(Y, (0, 0), (3, 1))),
    (TypeError, "smaller", lambda m: m.dynamic_update_slice(Y, f32(3, 1), (0, 0))),
    (TypeError, "rank", lambda m: m.dynamic_update_slice(Y, f32(1), (0, 0))),
    (ValueError, "out-of-bounds", lambda m: m.reduce_sum(Y, (-1,))),
    (ValueError, "duplicate", lambda m: m.reduce_sum(Y, (0, 0))),
    (TypeError, "dtype", lambda m: m.reduce_sum(Y > 0, (0,))),
    (TypeError, "bool or int|dtype", lambda m: m.reduce_and(Y, (0,))),
    (ValueError, "has no axis 2", lambda m: m.argmax(Y, 2, np.int32)),
    (TypeError, "integer", lambda m: m.argmax(Y, 1, np.float32)),
    (ValueError, "non-empty", lambda m: m.argmax(f32(0, 2), 0, np.int32)),
    (ValueError, "negative axes", lambda m: m.cumsum(Y, -1)),
    (ValueError, "out of bounds", lambda m: m.cumsum(Y, 2)),
    (TypeError, "contracting dimensions", lambda m: m.dot_general(Y, Y, (((1,), (0,)), ((), ())))),
    (TypeError, "equal numbers", lambda m: m.dot_general(Y, Y, (((1,), (1,)), ((0,), ())))),
    (TypeError, "distinct|nonnegative", lambda m: m.dot_general(Y, Y, (((-1,), (-1,)), ((), ())))),
    (ValueError, "Precision", lambda m: m.dot(Y, f32(3), precision="bogus")),
    (ValueError, "dimension_numbers", lambda m: m.dot(Y, Y)),
    (ValueError, "no larger than the axis", lambda m: m.top_k(Y, 5)),
    (ValueError, "nonnegative", lambda m: m.top_k(Y, -1)),
    (TypeError, "equal shapes", lambda m: m.sort((Y, Y[0]))),
    (ValueError, "num_keys", lambda m: m.sort((Y, Y), num_keys=3)),
    (ValueError, "out of bounds", lambda m: m.sort(Y, 2)),
    (ValueError, "gather mode", lambda m: m.GatherScatterMode.from_any("wrap")),
]


@pytest.mark.parametrize(("error", "words", "call"), ERRORS, ids=range(len(ERRORS)))
def test_errors_have_the_types_of_jax(error, words, call):
    with pytest.raises(error, match=words):
        call(lax)
    # JAX raises reshape's error at lowering, with another type.
    if words != "total size":
        with pytest.raises(error):
            call(jlax)
