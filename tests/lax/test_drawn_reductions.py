"""Reductions, cumulative operations and sorting of `plugjax.lax` on drawn operands:

JAX's types and errors, NumPy's values.
"""

import numpy as np
import pytest
import scipy.special
from hypothesis import assume, given, strategies as st

from tests.drawn import DTYPES, Weak, agree, axes_of, operands

REDUCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "and": lambda x, axis: np.bitwise_and.reduce(x, axis),
    "or": lambda x, axis: np.bitwise_or.reduce(x, axis),
    "xor": lambda x, axis: np.bitwise_xor.reduce(x, axis),
}
OPERATIONS = {"add": "sum", "mul": "prod", "max": "max", "min": "min", "bitwise_or": "or", "bitwise_and": "and"}  # fmt: skip
CUMULATIVE = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "cummax": np.maximum.accumulate,
    "cummin": np.minimum.accumulate,
    "cumlogsumexp": np.logaddexp.accumulate,
}


@st.composite
def axes(draw, ndim):
    """A tuple of axes, which lax counts from the front; sometimes a missing or a repeated one."""
    found = draw(st.lists(st.integers(0, max(ndim - 1, 0)), max_size=ndim, unique=True))
    if draw(st.integers(0, 9)) == 0:
        found.append(draw(st.integers(-1, ndim)))
    return tuple(found)


def wrapped(f, axis):
    """NumPy's function of integers in their own dtype."""
    return lambda x: np.asarray(f(x, axis=axis)).astype(x.dtype)


@pytest.mark.parametrize("name", REDUCTIONS)
@given(data=st.data())
def test_reductions(name, data):
    x = data.draw(operands(DTYPES))
    over = data.draw(axes(x.ndim))
    agree(
        lambda _, j, x: getattr(j.lax, f"reduce_{name}")(x, over),
        wrapped(REDUCTIONS[name], over) if over and x.size and x.dtype.kind != "c" else None,
        x,
    )


@pytest.mark.parametrize("name", [*OPERATIONS, "of my own"])
@given(data=st.data())
def test_reduce(name, data):
    x = data.draw(operands(DTYPES))
    over = data.draw(axes(x.ndim))
    start = data.draw(operands([x.dtype.name] if data.draw(st.booleans()) else DTYPES, st.just(())))
    # Known values: JAX checks whether they are neutral, and the accepted dtypes depend on it.
    start = start.item() if isinstance(start, Weak) else start
    operation = lambda lax: getattr(lax, name, lambda a, b: a + b)  # noqa: E731
    agree(lambda _, j, x: j.lax.reduce(x, start, operation(j.lax), over), None, x)


@given(data=st.data())
def test_reduce_of_several(data):
    """A maximum and its position."""
    x = data.draw(operands(["float32", "int32", "int8"]))
    y = data.draw(operands(["int32"], st.just(x.shape if data.draw(st.integers(0, 9)) else (5,))))
    over = data.draw(axes(x.ndim))

    def larger(lax, a, b):
        first = lax.ge(a[0], b[0])
        return lax.select(first, a[0], b[0]), lax.select(first, a[1], b[1])

    agree(
        lambda n, j, x, y: j.lax.reduce(
            (x, y), (n.array(-9, n.result_type(x)), 0), lambda a, b: larger(j.lax, a, b), over
        ),
        None,
        x,
        y,
    )


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@given(data=st.data())
def test_places(name, data):
    x = data.draw(operands(DTYPES))
    axis = data.draw(axes_of(x.ndim, several=False))
    dtype = data.draw(st.sampled_from(["int32", "int32", "uint8", "int16", "float32"]))
    agree(
        lambda _, j, x: getattr(j.lax, name)(x, axis, np.dtype(dtype)),
        lambda x: getattr(np, name)(x, axis),
        x,
    )


@pytest.mark.parametrize("name", CUMULATIVE)
@given(data=st.data())
def test_cumulative(name, data):
    x = data.draw(operands(DTYPES, low=-2, high=2))
    axis, reverse = data.draw(axes_of(x.ndim, several=False)), data.draw(st.booleans())

    def oracle(x):
        x = np.flip(x, axis) if reverse else x
        y = CUMULATIVE[name](x, axis).astype(x.dtype)
        return np.flip(y, axis) if reverse else y

    # JAX accepts these if there is nothing to compute.
    assume(name != "cumlogsumexp" or x.dtype.kind in "fcV" or x.size)
    ordered = x.dtype.kind != "c" or name in ("cumsum", "cumprod")
    agree(
        lambda _, j, x: getattr(j.lax, name)(x, axis, reverse=reverse),
        oracle if ordered else None,
        x,
        tolerance=4,
    )


@given(data=st.data())
def test_sort(data):
    x = data.draw(operands(DTYPES))
    options = {"dimension": data.draw(axes_of(x.ndim, several=False)), "is_stable": data.draw(st.booleans())}  # fmt: skip
    agree(
        lambda _, j, x: j.lax.sort(x, **options),
        lambda x: np.sort(x, axis=options["dimension"]),
        x,
    )


@given(data=st.data())
def test_sort_of_several(data):
    """Keys decide in their order; the sort is stable."""
    x = data.draw(operands(DTYPES, low=0, high=1.9))
    shapes = st.just(x.shape) if data.draw(st.integers(0, 9)) else st.just((5,))
    y, z = (data.draw(operands(DTYPES, shapes, low=0, high=1.9)) for _ in range(2))
    axis, keys = data.draw(axes_of(x.ndim, several=False)), data.draw(st.integers(0, 4))

    def oracle(*xs):
        order = np.lexsort(xs[keys - 1 :: -1] if keys > 1 else xs[:1], axis=axis)
        return [np.take_along_axis(x, order, axis) for x in xs]

    known = all(a.dtype.name in ("int32", "int8", "bool", "float32") for a in (x, y, z))
    agree(
        lambda _, j, *xs: j.lax.sort(xs, dimension=axis, num_keys=keys),
        oracle if known and x.ndim else None,
        x,
        y,
        z,
    )
    agree(lambda _, j, x, y: j.lax.sort_key_val(x, y, axis), None, x, y)


@given(data=st.data())
def test_top_k(data):
    x = data.draw(operands(DTYPES))
    k, axis = data.draw(st.integers(-1, 4)), data.draw(axes_of(x.ndim, several=False))

    def oracle(x):
        order = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        order = np.take(x.shape[axis] - 1 - order, range(k), axis)
        return np.take_along_axis(x, order, axis), order

    agree(lambda _, j, x: j.lax.top_k(x, k, axis=axis), oracle, x)


@given(data=st.data())
def test_logsumexp(data):
    """Over one axis it is the last element of `cumlogsumexp`."""
    x = data.draw(operands(["float32", "float16", "complex64"]))
    axis = data.draw(axes_of(x.ndim))
    agree(
        lambda _, j, x: j.nn.logsumexp(x, axis),
        (lambda x: scipy.special.logsumexp(x, axis)) if x.size else None,
        x,
    )


@given(data=st.data())
def test_reduce_precision(data):
    x = data.draw(operands(DTYPES))
    exponent, mantissa = data.draw(st.integers(-1, 9)), data.draw(st.integers(-1, 24))
    agree(lambda _, j, x: j.lax.reduce_precision(x, exponent, mantissa), None, x)


@given(data=st.data())
def test_associative_scan(data):
    x = data.draw(operands(DTYPES))
    axis, reverse = data.draw(axes_of(x.ndim, several=False)), data.draw(st.booleans())
    # JAX accepts negative axes forwards, but not in reverse, where it also checks the axis first.
    assume(not reverse or 0 <= axis < x.ndim)
    agree(
        lambda n, j, x: j.lax.associative_scan(n.add, x, reverse=reverse, axis=axis),
        None,
        x,
    )
    y = data.draw(operands(["float32", "int32"], st.just(x.shape)))
    agree(
        lambda n, j, x, y: j.lax.associative_scan(
            lambda a, b: (n.add(a[0], b[0]), n.maximum(a[1], b[1])), (x, y), axis=axis
        ),
        None,
        x,
        y,
    )
