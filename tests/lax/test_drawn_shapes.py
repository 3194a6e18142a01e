"""Shapes, slices, choices and conversions of `plugjax.lax` on drawn operands: JAX's types and errors, NumPy's values."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from tests.drawn import DTYPES, Weak, agree, arrays, axes_of, operands

INTEGERS = st.integers(-2, 4)
INEXACT = ["float16", "bfloat16", "float32", "complex64"]


@st.composite
def permutations(draw, ndim):
    """An order of the axes; sometimes something else."""
    order = draw(st.permutations(range(ndim)))
    kind = draw(st.integers(0, 12))
    if kind == 0:
        order = [*order, ndim]
    elif kind == 1 and order:
        order[0] = draw(INTEGERS)
    return tuple(order)


@st.composite
def some_axes(draw, ndim):
    found = draw(st.lists(st.integers(0, max(ndim - 1, 0)), max_size=ndim, unique=True))
    if draw(st.integers(0, 9)) == 0:
        found.append(draw(INTEGERS))
    return tuple(found)


@given(data=st.data())
def test_transpose(data):
    x = data.draw(operands(DTYPES))
    order = data.draw(permutations(x.ndim))
    agree(lambda _, j, x: j.lax.transpose(x, order), lambda x: np.transpose(x, order), x)


@given(data=st.data())
def test_rev(data):
    x = data.draw(operands(DTYPES))
    axes = data.draw(some_axes(x.ndim))
    agree(lambda _, j, x: j.lax.rev(x, axes), lambda x: np.flip(x, axes), x)


@given(data=st.data())
def test_squeeze(data):
    x = data.draw(operands(DTYPES))
    ones = tuple(d for d, n in enumerate(x.shape) if n == 1)
    axes = data.draw(st.one_of(st.just(ones), some_axes(x.ndim), axes_of(x.ndim, several=False).map(lambda a: (a,))))  # fmt: skip
    agree(lambda _, j, x: j.lax.squeeze(x, axes), lambda x: np.squeeze(x, axes), x)


@given(data=st.data())
def test_expand_dims(data):
    x = data.draw(operands(DTYPES))
    axes = tuple(data.draw(st.lists(st.integers(-3, 3), max_size=2)))
    agree(lambda _, j, x: j.lax.expand_dims(x, axes), lambda x: np.expand_dims(x, axes), x)


@given(data=st.data())
def test_reshape(data):
    x = data.draw(operands(DTYPES))
    shape = tuple(data.draw(st.permutations(x.shape)))
    shape = data.draw(st.sampled_from([shape, shape, (x.size,), (*shape, 1), (-1,), (x.size + 1,), (*shape, -1)]))  # fmt: skip
    order = data.draw(st.one_of(st.none(), permutations(x.ndim)))

    def oracle(x):
        return np.reshape(x if order is None else np.transpose(x, order), shape)

    agree(lambda _, j, x: j.lax.reshape(x, shape, order), oracle, x)


@given(data=st.data())
def test_collapse(data):
    x = data.draw(operands(DTYPES))
    start, stop = data.draw(INTEGERS), data.draw(st.one_of(st.none(), INTEGERS))
    agree(lambda _, j, x: j.lax.collapse(x, start, stop), None, x)


@given(data=st.data())
def test_broadcasts(data):
    x = data.draw(operands(DTYPES))
    sizes = tuple(data.draw(st.lists(st.integers(-1, 3), max_size=2)))
    agree(
        lambda _, j, x: j.lax.broadcast(x, sizes),
        lambda x: np.broadcast_to(x, sizes + x.shape),
        x,
    )
    rank = data.draw(st.integers(0, 4))
    agree(lambda _, j, x: j.lax.broadcast_to_rank(x, rank), None, x)


@given(data=st.data())
def test_broadcast_in_dim(data):
    x = data.draw(operands(DTYPES))
    rank = data.draw(st.integers(x.ndim, 4))
    places = sorted(data.draw(st.permutations(range(rank)))[: x.ndim])
    sizes = dict(zip(places, x.shape, strict=True))
    shape = tuple(
        sizes[d] if sizes.get(d, 1) != 1 else data.draw(st.integers(1, 3)) for d in range(rank)
    )
    places = data.draw(st.one_of(st.just(tuple(places)), permutations(x.ndim)))
    if data.draw(st.integers(0, 9)) == 0:
        shape = (*shape[:-1], 5)

    def oracle(x):
        y = np.transpose(x, np.argsort(places)) if places else x
        y = np.expand_dims(y, tuple(d for d in range(len(shape)) if d not in places))
        return np.broadcast_to(y, shape)

    agree(lambda _, j, x: j.lax.broadcast_in_dim(x, shape, places), oracle, x)


@given(data=st.data())
def test_broadcast_shapes(data):
    shapes = data.draw(st.lists(st.lists(st.sampled_from([1, 1, 2, 3]), max_size=3).map(tuple), min_size=1, max_size=3))  # fmt: skip
    agree(
        lambda n, j: n.zeros(j.lax.broadcast_shapes(*shapes)),
        lambda: np.zeros(np.broadcast_shapes(*shapes)),
    )


@given(data=st.data())
def test_concatenate(data):
    x = data.draw(operands(DTYPES))
    axis = data.draw(axes_of(x.ndim, several=False))
    shape = list(x.shape)
    if shape:
        shape[axis % len(shape) if data.draw(st.integers(0, 9)) else 0] = data.draw(st.integers(0, 3))  # fmt: skip
    y = data.draw(operands([x.dtype.name] if data.draw(st.integers(0, 9)) else DTYPES, st.just(tuple(shape))))  # fmt: skip
    agree(
        lambda _, j, x, y: j.lax.concatenate([x, y], axis),
        lambda x, y: np.concatenate([x, y], axis),
        x,
        y,
    )


@given(data=st.data())
def test_stack(data):
    x = data.draw(operands(DTYPES))
    axis = data.draw(st.integers(-4, 4))
    same = data.draw(st.integers(0, 9))
    y = data.draw(operands([x.dtype.name], st.just(x.shape if same else (2,))))
    agree(lambda _, j, x, y: j.lax.stack([x, y], axis), lambda x, y: np.stack([x, y], axis), x, y)
    agree(lambda _, j, x: j.lax.unstack(x, axis), None, x)


@given(data=st.data())
def test_split(data):
    x = data.draw(operands(DTYPES))
    axis = data.draw(axes_of(x.ndim, several=False))
    size = x.shape[axis] if -x.ndim <= axis < x.ndim else 2
    cut = data.draw(st.integers(-1, size))
    sizes = data.draw(st.sampled_from([(cut, size - cut), (size,), (1, cut)]))
    agree(
        lambda _, j, x: j.lax.split(x, sizes, axis),
        lambda x: np.split(x, np.cumsum(sizes)[:-1], axis),
        x,
    )


@given(data=st.data())
def test_pad(data):
    x = data.draw(operands(DTYPES))
    value = data.draw(operands([x.dtype.name] if data.draw(st.integers(0, 9)) else DTYPES, st.just(())))  # fmt: skip
    amounts = st.tuples(
        st.integers(-3, 2), st.integers(-3, 2), st.integers(0 if data.draw(st.integers(0, 9)) else -1, 2)
    )  # fmt: skip
    count = x.ndim if data.draw(st.integers(0, 9)) else x.ndim + 1
    config = data.draw(st.lists(amounts, min_size=count, max_size=count))

    def oracle(x, value):
        for axis, (low, high, between) in enumerate(config):
            size = x.shape[axis]
            shape = list(x.shape)
            shape[axis] = max(size + max(size - 1, 0) * between, 0)
            spread = np.full(shape, value, x.dtype)
            spread[(slice(None),) * axis + (slice(None, None, between + 1),)] = x
            grown = np.pad(
                spread,
                [(max(low, 0), max(high, 0)) if d == axis else (0, 0) for d in range(x.ndim)],
                constant_values=value,
            )
            stop = grown.shape[axis] + min(high, 0)
            x = grown[(slice(None),) * axis + (slice(max(-low, 0), stop),)]
        return x

    agree(lambda _, j, x, value: j.lax.pad(x, value, config), oracle, x, value)


@given(data=st.data())
def test_tile(data):
    x = data.draw(operands(DTYPES))
    count = x.ndim if data.draw(st.integers(0, 3)) else data.draw(st.integers(0, 4))
    reps = tuple(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)))
    agree(lambda _, j, x: j.lax.tile(x, reps), lambda x: np.tile(x, reps), x)


@given(data=st.data())
def test_slice(data):
    x = data.draw(operands(DTYPES))
    starts = [data.draw(st.integers(0, max(n, 1))) for n in x.shape]
    stops = [data.draw(st.integers(min(a, n), n)) for a, n in zip(starts, x.shape, strict=True)]
    strides = data.draw(st.one_of(st.none(), st.just([data.draw(st.integers(1, 3)) for _ in starts])))  # fmt: skip
    if starts and data.draw(st.integers(0, 9)) == 0:
        data.draw(st.sampled_from([starts, stops, strides or starts]))[0] = data.draw(INTEGERS)
    if data.draw(st.integers(0, 12)) == 0:
        stops.append(1)
    where = [slice(*t) for t in zip(starts, stops, strides or [1] * len(starts), strict=False)]
    agree(lambda _, j, x: j.lax.slice(x, starts, stops, strides), lambda x: x[tuple(where)], x)


@given(data=st.data())
def test_slices_in_a_dimension(data):
    x = data.draw(operands(DTYPES))
    axis = data.draw(axes_of(x.ndim, several=False))
    start, stop = (data.draw(st.one_of(st.none(), INTEGERS)) for _ in range(2))
    stride, index = data.draw(st.integers(1, 2)), data.draw(INTEGERS)
    agree(
        lambda _, j, x: j.lax.slice_in_dim(x, start, stop, stride, axis),
        lambda x: x[(slice(None),) * (axis % x.ndim) + (slice(start, stop, stride),)],
        x,
    )
    keep = data.draw(st.booleans())
    agree(lambda _, j, x: j.lax.index_in_dim(x, index, axis, keep), None, x)


@given(data=st.data())
def test_dynamic_slices(data):
    x = data.draw(operands(DTYPES))
    count = x.ndim if data.draw(st.integers(0, 9)) else x.ndim + 1
    # Python numbers beside arrays of another dtype are converted here, and refused by JAX.
    some = arrays(["int32", "int32", "uint8", "int8", "float32"], st.just(()))
    at = [data.draw(data.draw(st.sampled_from([some, some, operands(["int32"], st.just(()))]))) for _ in range(count)]  # fmt: skip
    assume(all(a.dtype == "int32" for a in at) or not any(isinstance(a, Weak) for a in at))
    sizes = [data.draw(st.integers(0, n)) for n in x.shape]
    if sizes and data.draw(st.integers(0, 9)) == 0:
        sizes[0] = data.draw(INTEGERS)
    whole = all(a.dtype.kind in "iu" for a in at) and len({a.dtype for a in at}) < 2

    def place(x, at, sizes):
        starts = [int(a) + (n if a < 0 else 0) for a, n in zip(at, x.shape, strict=True)]
        starts = [min(max(a, 0), n - s) for a, s, n in zip(starts, sizes, x.shape, strict=True)]
        return tuple(slice(a, a + s) for a, s in zip(starts, sizes, strict=True))

    agree(
        lambda _, j, x, *at: j.lax.dynamic_slice(x, at, sizes),
        (lambda x, *at: x[place(x, at, sizes)]) if whole else None,
        x,
        *at,
    )
    y = data.draw(operands([x.dtype.name] if data.draw(st.integers(0, 9)) else DTYPES, st.just(tuple(max(n, 0) for n in sizes))))  # fmt: skip

    def updated(x, y, *at):
        x = x.copy()
        x[place(x, at, sizes)] = y
        return x

    agree(
        lambda _, j, x, y, *at: j.lax.dynamic_update_slice(x, y, at),
        updated if whole else None,
        x,
        y,
        *at,
    )


@given(data=st.data())
def test_dynamic_slices_in_a_dimension(data):
    x = data.draw(operands(DTYPES))
    axis = data.draw(axes_of(x.ndim, several=False))
    at = data.draw(operands(["int32", "uint8", "int16", "float32"], st.sampled_from([(), (), (), (1,)])))  # fmt: skip
    size, keep = data.draw(st.integers(0, 3)), data.draw(st.booleans())
    agree(lambda _, j, x, at: j.lax.dynamic_slice_in_dim(x, at, size, axis), None, x, at)
    agree(lambda _, j, x, at: j.lax.dynamic_index_in_dim(x, at, axis, keep), None, x, at)
    shape = list(x.shape)
    if shape and 0 <= axis < x.ndim:
        shape[axis] = min(shape[axis], 1)
    y = data.draw(operands([x.dtype.name], st.just(tuple(shape))))
    agree(lambda _, j, x, y, at: j.lax.dynamic_update_slice_in_dim(x, y, at, axis), None, x, y, at)
    agree(lambda _, j, x, y, at: j.lax.dynamic_update_index_in_dim(x, y, at, axis), None, x, y, at)


@given(data=st.data())
def test_select(data):
    x = data.draw(operands(DTYPES))
    dtype = st.sampled_from([[x.dtype.name]] * 9 + [DTYPES])
    shape = st.just(x.shape) if data.draw(st.integers(0, 9)) else st.just((5,))
    y = data.draw(operands(data.draw(dtype), shape))
    which = data.draw(
        arrays(
            ["bool"] * 8 + ["int32", "float32", "uint8"], st.sampled_from([x.shape, x.shape, ()]), -1, 1
        )
    )  # fmt: skip
    agree(
        lambda _, j, w, x, y: j.lax.select(w, x, y),
        lambda w, x, y: np.where(w > 0, x, y),
        which,
        x,
        y,
    )
    agree(
        lambda _, j, w, x, y: j.lax.select_n(w, x, y),
        lambda w, x, y: np.where(w > 0, y, x),
        which,
        x,
        y,
    )


@given(data=st.data())
def test_clamp(data):
    x = data.draw(operands(DTYPES))
    dtypes = [x.dtype.name] if data.draw(st.integers(0, 9)) else DTYPES
    low, high = (
        data.draw(operands(dtypes, st.sampled_from([(), x.shape, x.shape, (5,)]))) for _ in range(2)
    )
    agree(
        lambda _, j, low, x, high: j.lax.clamp(low, x, high),
        lambda low, x, high: np.minimum(np.maximum(x, low), high),
        low,
        x,
        high,
    )


MADE = {
    "iota": lambda n, lax, d, s, a: lax.iota(d, sum(s)),
    "broadcasted_iota": lambda n, lax, d, s, a: lax.broadcasted_iota(d, s, a),
    "full": lambda n, lax, d, s, a: lax.full(s, a, d),
    "full of its own dtype": lambda n, lax, d, s, a: lax.full(s, a / 2 if a % 2 else a),
    "empty": lambda n, lax, d, s, a: n.zeros_like(lax.empty(s, d)),
}


@pytest.mark.parametrize("name", MADE)
@given(data=st.data())
def test_made(name, data):
    dtype = data.draw(st.sampled_from([np.dtype(d) for d in DTYPES] + [int, float, complex, bool]))
    shape = tuple(data.draw(st.lists(st.integers(0 if data.draw(st.integers(0, 9)) else -1, 3), max_size=3)))  # fmt: skip
    axis = data.draw(axes_of(len(shape), several=False))
    # JAX's `empty` gives a 64-bit dtype for Python's types, which nothing else does without x64.
    assume(name != "empty" or isinstance(dtype, np.dtype))
    agree(lambda n, j: MADE[name](n, j.lax, dtype, shape, axis), None)


@given(data=st.data())
def test_full_like(data):
    x = data.draw(operands(DTYPES))
    dtype = data.draw(st.sampled_from([None, None, *map(np.dtype, DTYPES), float, int]))
    shape = data.draw(st.sampled_from([None, None, (2,), ()]))
    value = data.draw(st.sampled_from([2, 0.5, True, np.float32(1), np.int8(3)]))
    agree(lambda _, j, x: j.lax.full_like(x, value, dtype, shape), None, x)


@given(data=st.data())
def test_conversions(data):
    """In range: conversions of numbers out of range are unspecified."""
    x = data.draw(operands(DTYPES, low=0, high=3))
    dtype = data.draw(st.sampled_from([*map(np.dtype, DTYPES), int, float, complex, bool, "float32", np.float64, "U3", "float33"]))  # fmt: skip
    whole = np.dtype(dtype).kind in "iu" if dtype not in ("float33",) else False
    known = x.dtype.kind != "c" and not (whole and x.dtype.kind in "fV") and dtype not in ("U3", "float33")  # fmt: skip
    agree(
        lambda _, j, x: j.lax.convert_element_type(x, dtype),
        (lambda x: x.astype(dtype)) if known else None,
        x,
    )


@given(data=st.data())
def test_bitcasts(data):
    x = data.draw(operands(DTYPES))
    dtype = np.dtype(data.draw(st.sampled_from(DTYPES)))

    def oracle(_):
        y = np.ascontiguousarray(x)
        if dtype.itemsize < x.dtype.itemsize:
            y = y[..., None]
        y = np.asarray(y).view(dtype)
        return (
            y.reshape(x.shape[:-1])
            if dtype.itemsize > x.dtype.itemsize
            else y.reshape(*x.shape, -1)
            if dtype.itemsize < x.dtype.itemsize
            else y
        )

    agree(
        lambda _, j, x: j.lax.bitcast_convert_type(x, dtype),
        oracle if dtype.kind in "iu" else None,
        x,
    )


@given(data=st.data())
def test_control_flow(data):
    """The operand of a branch, of a loop and of a map, of any type."""
    x = data.draw(operands(DTYPES))
    which = data.draw(operands(["int32", "int8", "uint32", "float32", "bool"], st.sampled_from([(), (), (), (1,)])))  # fmt: skip
    agree(
        lambda n, j, w, x: j.lax.switch(w, [n.positive, n.conj, lambda x: x.T], n.asarray(x)),
        None,
        which,
        x,
    )
    agree(lambda n, j, w, x: j.lax.cond(w, lambda x: x, lambda x: n.flip(x, 0), x), None, which, x)
    agree(lambda n, j, x: j.lax.map(lambda v: v == 0, x), None, x)
    assume(x.size)  # JAX divides by the number of batches.
    batch = data.draw(st.integers(1, 3))
    agree(lambda n, j, x: j.lax.map(n.abs, x, batch_size=batch), None, x)
    agree(lambda n, j, x: j.lax.scan(lambda c, v: (c, n.sqrt(v)), x, x), None, x)
    agree(lambda n, j, x: j.lax.fori_loop(0, 2, lambda i, c: n.add(c, i), x), None, x)


@given(data=st.data())
def test_fft(data):
    x = data.draw(operands(["float32", "complex64", "float16", "int32"]))
    kind = data.draw(st.sampled_from(["fft", "ifft", "rfft", "irfft"]))
    lengths = x.shape[max(x.ndim - data.draw(st.integers(0, 2)), 0) :]
    if kind == "irfft" and lengths:
        lengths = (*lengths[:-1], data.draw(st.integers(1, 7)))
    oracle = getattr(np.fft, kind + "n")
    agree(
        lambda _, j, x: j.lax.fft(x, kind, lengths),
        (lambda x: oracle(x, lengths, tuple(range(-len(lengths), 0))))
        if lengths and all(lengths)
        else None,
        x,
        tolerance=10,
    )


assert ml_dtypes
