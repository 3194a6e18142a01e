"""Sorting: stable, and in less than quadratic time.

IREE 3.13 ignores ``is_stable``, and its sort compares every pair (measured on one axis of 1024, 4096, 16384 elements: 7.7, 98,
1735 ms). Here the position of an element is its last key, so no two elements are equal, and the order is found by

* IREE's sort, for a few elements;
* a call to the host's kernel, where a program can call Python;
* a bitonic network in a loop otherwise, as in exports: about log2(n)**2 / 2 passes over the keys.

Reference:
    K. Batcher, "Sorting networks and their applications", AFIPS 1968.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from plugjax.extend import registry
from plugjax.extend.core import ShapedArray
from plugjax.extend.dtypes import BOOL, INT32, DType, is_float
from plugjax.extend.rules import RuleSet, impl, lowering
from plugjax.lax import sorting as lax
from plugjax.stablehlo import mlir
from plugjax.stablehlo.comparison import compare
from plugjax.stablehlo.complex import real_aval
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.conversion import convert
from plugjax.stablehlo.host_call import fallback_policy, kernel_call
from plugjax.stablehlo.mlir import Value
from plugjax_iree.lowering.hardware import on_vulkan
from plugjax_iree.workarounds.copies import BARRIER, copied
from plugjax_iree.workarounds.switch import is_on

rules = RuleSet(__name__)

_FEW = 128
"""Up to here IREE's sort is faster than a call to Python or a network."""

_SCALAR = ShapedArray((), INT32)

Key: TypeAlias = tuple[Value, ShapedArray]


@rules.define(lowering, lax.sort_p, platform="iree")
def _sort(
    ctx: EqnContext, *operands: Value, dimension: int, is_stable: bool, num_keys: int
) -> Sequence[Value]:
    aval = ctx.avals_in[0]
    size = aval.shape[dimension]
    if 0 in aval.shape or size == 1:
        return operands
    found = _by_python(ctx, size, operands)
    if found is not None:
        return found
    keys: list[Key] = []
    for x, x_aval in zip(operands[:num_keys], ctx.avals_in, strict=False):
        keys.extend(_ordered(x, x_aval, one_nan=True))
    rows = _Rows(aval.shape, dimension)
    order = _order(ctx, rows, keys)
    avals = ctx.avals_in
    return [rows.taken(x, a, order, size) for x, a in zip(operands, avals, strict=True)]


@rules.define(lowering, lax.top_k_p, platform="iree")
def _top_k(ctx: EqnContext, x: Value, *, k: int) -> Sequence[Value]:
    # IREE's own sort does not put nan last, and permutes equal integers.
    (aval,) = ctx.avals_in
    if 0 in ctx.avals_out[0].shape:
        return [ctx.constant(0, out) for out in ctx.avals_out]
    found = _by_python(ctx, aval.shape[-1], [x])
    if found is not None:
        return found
    ((key, key_aval),) = _ordered(x, aval, one_nan=False)
    rows = _Rows(aval.shape, aval.ndim - 1)
    # The complement descends as the key ascends, for signed and unsigned ones.
    order = _order(ctx, rows, [(mlir.value("stablehlo.not", key_aval, [key]), key_aval)])
    first = ShapedArray((rows.count, k), INT32)
    order = mlir.static_slice(order, first, [0, 0], first.shape)
    places = mlir.value("stablehlo.reshape", ctx.avals_out[1], [order])
    return [rows.taken(x, aval, order, k), places]


def _by_python(ctx: EqnContext, size: int, operands: Sequence[Value]) -> Sequence[Value] | None:
    """The results of the host's kernel, if it is worth a call and may be called."""
    kernel = registry.table(impl).find(ctx.primitive)
    if size <= _FEW or kernel is None or ctx.module.emit_host_call is None:
        return None
    if fallback_policy(ctx.primitive, ctx.platform) == "error":
        return None
    return ctx.host_call(kernel_call(ctx.eqn, kernel), operands)


def _order(ctx: EqnContext, rows: _Rows, keys: Sequence[Key]) -> Value:
    """For each place in sorted rows, where its element comes from."""
    keys = [(rows.of(x, a), rows.aval(a.dtype)) for x, a in keys]
    return _few(ctx, rows, keys) if rows.size <= _FEW else _Network(rows).order(keys)


def _ordered(x: Value, aval: ShapedArray, *, one_nan: bool) -> list[Key]:
    """Integers that are ordered as the elements are.

    Args:
        x: the elements.
        aval: their type.
        one_nan: there is one nan, after all, and one zero; otherwise floats are in the order of
            their bits, from negative nan over -0.0 and 0.0 to positive nan.
    """
    if aval.dtype.kind == "c":
        part = real_aval(aval)
        parts = [mlir.value(f"stablehlo.{name}", part, [x]) for name in ("real", "imag")]
        return [key for p in parts for key in _ordered(p, part, one_nan=one_nan)]
    if aval.dtype == BOOL:
        return [(convert(x, aval, INT32), ShapedArray(aval.shape, INT32))]
    if not is_float(aval.dtype):
        return [(x, aval)]
    dtype = np.dtype(f"int{8 * aval.dtype.itemsize}")
    out = ShapedArray(aval.shape, dtype)

    def number(value: int) -> Value:
        return mlir.constant(dtype.type(value), aval.shape)

    greatest = int(np.iinfo(dtype).max)
    bits = mlir.value("stablehlo.bitcast_convert", out, [x])
    # Negative floats descend as their bits ascend.
    flipped = mlir.value("stablehlo.xor", out, [bits, number(greatest)])
    if one_nan:
        # From -1 to 0, which is that of 0.0.
        flipped = mlir.value("stablehlo.add", out, [flipped, number(1)])
    negative = compare("LT", out, bits, number(0))
    key = mlir.value("stablehlo.select", out, [negative, flipped, bits])
    if one_nan:
        undefined = compare("NE", aval, x, x)
        key = mlir.value("stablehlo.select", out, [undefined, number(greatest), key])
    return [(key, out)]


def _less(keys: Sequence[tuple[ShapedArray, Value, Value]]) -> Value:
    """Lexicographic comparison."""
    (aval, x, y), *more_significant = reversed(keys)
    result = compare("LT", aval, x, y)
    for aval, x, y in more_significant:
        flags = ShapedArray(aval.shape, BOOL)
        tie = mlir.value("stablehlo.and", flags, [compare("EQ", aval, x, y), result])
        result = mlir.value("stablehlo.or", flags, [compare("LT", aval, x, y), tie])
    return result


class _Rows:
    """An operand with the sorted axis last, and the others in one.

    IREE's sort of several operands along another axis does not compile.
    """

    def __init__(self, shape: tuple[int, ...], dimension: int) -> None:
        self.shape = shape
        self.size = shape[dimension]
        self.count = math.prod(shape) // self.size
        self.axes = [*(d for d in range(len(shape)) if d != dimension), dimension]

    def aval(self, dtype: DType) -> ShapedArray:
        return ShapedArray((self.count, self.size), dtype)

    def of(self, x: Value, aval: ShapedArray) -> Value:
        """An operand as rows."""
        moved = ShapedArray([self.shape[d] for d in self.axes], aval.dtype)
        x = mlir.value("stablehlo.transpose", moved, [x], {"permutation": mlir.i64s(self.axes)})
        return mlir.value("stablehlo.reshape", self.aval(aval.dtype), [x])

    def taken(self, x: Value, aval: ShapedArray, order: Value, size: int) -> Value:
        """The first ``size`` elements of each row in the given order, the axes as in the operand."""
        attributes = {
            "dimension_numbers": mlir.attribute(
                "#stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], "
                "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>"
            ),
            "slice_sizes": mlir.i64s([1, 1]),
            "indices_are_sorted": mlir.boolean(False),
        }
        taken = ShapedArray((self.count, size), aval.dtype)
        found = mlir.value("stablehlo.gather", taken, [self.of(x, aval), order], attributes)
        lengths = [self.shape[d] for d in self.axes[:-1]]
        moved = ShapedArray((*lengths, size), aval.dtype)
        found = mlir.value("stablehlo.reshape", moved, [found])
        back = sorted(range(aval.ndim), key=self.axes.__getitem__)
        out = ShapedArray([moved.shape[d] for d in back], aval.dtype)
        return mlir.value("stablehlo.transpose", out, [found], {"permutation": mlir.i64s(back)})


def _few(ctx: EqnContext, rows: _Rows, keys: Sequence[Key]) -> Value:
    """The order of the keys by IREE's sort."""
    places = rows.aval(INT32)
    iota = mlir.value("stablehlo.iota", places, [], {"iota_dimension": mlir.i64(1)})
    full = [(copied(ctx, key), aval) for key, aval in (*keys, (iota, places))]
    attributes = {"dimension": mlir.i64(1), "is_stable": mlir.boolean(False)}
    types = [mlir.type_of(aval) for _, aval in full]
    sort = mlir.op("stablehlo.sort", types, [key for key, _ in full], attributes, 1)
    scalars = [ShapedArray((), aval.dtype) for _, aval in full]

    def less(*pairs: Value) -> list[Value]:
        return [_less([(a, pairs[2 * i], pairs[2 * i + 1]) for i, a in enumerate(scalars)])]

    elements = [mlir.type_of(aval) for aval in scalars for _ in range(2)]
    mlir.fill_region(sort.regions[0], elements, less)
    results = sort.results
    if on_vulkan(ctx) and is_on("vulkan_sorts"):
        # IREE sorts a copy of an operand whose sorted elements nothing reads, and does not compile the copy.
        results = mlir.op(BARRIER, types, results).results
    return results[len(full) - 1]


def _lengthened(x: Value, aval: ShapedArray, size: int) -> Key:
    """Rows of keys that go on after every element: no key is greater, and of equal ones the place decides."""
    out = ShapedArray((aval.shape[0], size), aval.dtype)
    greatest = mlir.constant(np.asarray(np.iinfo(aval.dtype).max, aval.dtype))
    attributes = {
        "edge_padding_low": mlir.i64s([0, 0]),
        "edge_padding_high": mlir.i64s([0, size - aval.shape[1]]),
        "interior_padding": mlir.i64s([0, 0]),
    }
    return mlir.value("stablehlo.pad", out, [x, greatest], attributes), out


def _shortened(order: Value, rows: _Rows) -> Value:
    found = rows.aval(INT32)
    return mlir.static_slice(order, found, [0, 0], found.shape)


class _Network:
    """A bitonic sorting network over rows, as a loop whose body is one layer."""

    def __init__(self, rows: _Rows) -> None:
        self.of, self.rows = rows, rows.count
        self.padded = 1 << (rows.size - 1).bit_length()
        self.places = ShapedArray((self.rows, self.padded), INT32)

    def order(self, keys: Sequence[Key]) -> Value:
        """For each place in sorted rows, where its element comes from."""
        order = self._order([_lengthened(x, aval, self.padded) for x, aval in keys])
        return _shortened(order, self.of)

    def _order(self, keys: Sequence[Key]) -> Value:
        """The places of padded rows, in the order of their elements."""
        places = mlir.value("stablehlo.iota", self.places, [], {"iota_dimension": mlir.i64(1)})
        avals = [*(aval for _, aval in keys), self.places]
        # Runs of length `run` become sorted by exchanges at a distance that halves from layer to layer.
        start = [mlir.constant(np.int32(2)), mlir.constant(np.int32(1))]
        operands = [*start, *(key for key, _ in keys), places]
        loop = mlir.op("stablehlo.while", [x.type for x in operands], operands, None, 2)
        types = [x.type for x in operands]
        mlir.fill_region(loop.regions[0], types, self._unfinished)
        mlir.fill_region(
            loop.regions[1], types, lambda run, gap, *values: self._layer(run, gap, values, avals)
        )
        return loop.results[len(operands) - 1]

    def _unfinished(self, run: Value, *_: Value) -> list[Value]:
        return [compare("LE", _SCALAR, run, mlir.constant(np.int32(self.padded)))]

    def _layer(
        self, run: Value, gap: Value, values: Sequence[Value], avals: Sequence[ShapedArray]
    ) -> list[Value]:
        """One exchange between all pairs at a distance, then the next distance."""
        row = ShapedArray((self.padded,), INT32)
        here = mlir.value("stablehlo.iota", row, [], {"iota_dimension": mlir.i64(0)})
        flags = ShapedArray((self.padded,), BOOL)
        zero = mlir.constant(np.int32(0), row.shape)

        def has_bit(number: Value) -> Value:
            bit = mlir.value("stablehlo.and", row, [here, mlir.broadcast(number, _SCALAR, row)])
            return compare("NE", row, bit, zero)

        partner = mlir.value("stablehlo.xor", row, [here, mlir.broadcast(gap, _SCALAR, row)])
        # The upper one of a pair keeps the greater, unless its run descends.
        keeps_greater = mlir.value("stablehlo.xor", flags, [has_bit(gap), has_bit(run)])
        others = [self._columns(x, a, partner) for x, a in zip(values, avals, strict=True)]
        below = _less(list(zip(avals, others, values, strict=True)))
        wide = ShapedArray((self.rows, self.padded), BOOL)
        along = {"broadcast_dimensions": mlir.i64s([1])}
        keeps_greater = mlir.value("stablehlo.broadcast_in_dim", wide, [keeps_greater], along)
        exchanged = mlir.value("stablehlo.xor", wide, [below, keeps_greater])
        found = [
            mlir.value("stablehlo.select", aval, [exchanged, other, x])
            for aval, other, x in zip(avals, others, values, strict=True)
        ]
        one = mlir.constant(np.int32(1))
        last = compare("EQ", _SCALAR, gap, one)
        half = mlir.value("stablehlo.shift_right_logical", _SCALAR, [gap, one])
        twice = mlir.value("stablehlo.shift_left", _SCALAR, [run, one])
        return [
            mlir.value("stablehlo.select", _SCALAR, [last, twice, run]),
            mlir.value("stablehlo.select", _SCALAR, [last, run, half]),
            *found,
        ]

    def _columns(self, x: Value, aval: ShapedArray, columns: Value) -> Value:
        attributes = {
            "dimension_numbers": mlir.attribute(
                "#stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], "
                "start_index_map = [1], index_vector_dim = 1>"
            ),
            "slice_sizes": mlir.i64s([self.rows, 1]),
            "indices_are_sorted": mlir.boolean(False),
        }
        return mlir.value("stablehlo.gather", aval, [x, columns], attributes)
