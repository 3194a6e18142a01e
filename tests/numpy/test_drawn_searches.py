"""Sets, searches, histograms and quantiles on drawn dtypes, shapes and axes."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.drawn import agree, arrays, axes_of

DTYPES = ["int32", "uint8", "float32"]
VECTORS = st.integers(1, 6).map(lambda n: (n,))
ANY = st.lists(st.sampled_from([1, 2, 3]), max_size=3).map(tuple)

# Of one array; sizes are given, because programs need them.
OF_ONE = {
    "unique": lambda n, x: n.unique(x, **_sized(n, 30)),
    "nonzero": lambda n, x: n.nonzero(n.ravel(x), **_sized(n, 30)),
    "flatnonzero": lambda n, x: n.flatnonzero(x, **_sized(n, 30)),
    "histogram": lambda n, x: n.histogram(x, bins=4, range=(-3, 3)),
    "histogram of edges": lambda n, x: n.histogram(x, bins=np.array([-3.0, -1.0, 0.5, 4.0])),
    "histogram density": lambda n, x: n.histogram(x, bins=3, range=(-4, 4), density=True)[0],
    "histogram_bin_edges": lambda n, x: n.histogram_bin_edges(x, bins=5, range=(-1, 1)),
    "digitize": lambda n, x: n.digitize(x, np.array([-2.0, 0.5, 2.0])),
    "digitize from the right": lambda n, x: n.digitize(x, np.array([2.0, 0.5, -2.0]), right=True),
    "partition": lambda n, x: n.partition(n.ravel(x), 0)[:1],
    "ediff1d": lambda n, x: n.ediff1d(x, to_begin=np.int8(1)),
    "cov": lambda n, x: n.cov(n.reshape(x, (1, -1)), bias=True),
    "resize": lambda n, x: n.resize(x, (2, 5)),
    "tri": lambda n, x: n.tri(x.shape[0] if x.ndim else 2, 3, -1, dtype=x.dtype),
    "diag": lambda n, x: n.diag(n.ravel(x), 1),
    "diagflat": lambda n, x: n.diagflat(x, -1),
    "vander": lambda n, x: n.vander(n.ravel(x), 3),
    "polyder": lambda n, x: n.polyder(n.ravel(x)),
    "polyint": lambda n, x: n.polyint(n.ravel(x)),
    "meshgrid": lambda n, x: n.meshgrid(n.ravel(x), np.arange(2, dtype="f")),
    "ix_": lambda n, x: n.ix_(np.array([0, 1]), n.ravel(x).astype(np.int32)),
    "packbits": lambda n, x: n.packbits(abs(x).astype(np.uint8)),
    "unpackbits": lambda n, x: n.unpackbits(abs(x).astype(np.uint8)),
    "piecewise": lambda n, x: n.piecewise(x, [x < 0, x > 1], [1, 2, 3]),
    "nan_to_num": lambda n, x: n.nan_to_num(x, nan=2.0),
    "apply_along_axis": lambda n, x: n.apply_along_axis(lambda v: v[:1] * 2, -1, n.atleast_1d(x)),
    "apply_over_axes": lambda n, x: n.apply_over_axes(n.sum, n.atleast_2d(x), [0, -1]),
}


def _sized(n, size):
    """NumPy's functions have no size: their results are padded by `filled`."""
    return {} if n is np else {"size": size, "fill_value": 0}


def filled(found, size):
    """NumPy's results, padded with zeros."""
    several = found if isinstance(found, tuple) else (found,)
    return [np.concatenate([x, np.zeros(size - len(x), x.dtype)]) for x in several]


SIZED = {"unique": 30, "nonzero": 30, "flatnonzero": 30}


@pytest.mark.parametrize("name", OF_ONE)
@given(data=st.data())
def test_of_one(name, data):
    x = data.draw(arrays(DTYPES, ANY))
    f = OF_ONE[name]

    def oracle(x):
        found = f(np, x)
        return filled(found, SIZED[name]) if name in SIZED else found

    agree(lambda n, _, x: f(n, n.asarray(x)), oracle, x)


OF_TWO = {
    "searchsorted": lambda n, x, y: n.searchsorted(n.sort(x), y),
    "searchsorted right": lambda n, x, y: n.searchsorted(n.sort(x), y, side="right"),
    "isin": lambda n, x, y: n.isin(y, x),
    "isin inverted": lambda n, x, y: n.isin(y, x, invert=True),
    "union1d": lambda n, x, y: n.union1d(x, y, **_sized(n, 40)),
    "intersect1d": lambda n, x, y: n.intersect1d(x, y, **_sized(n, 40)),
    "setdiff1d": lambda n, x, y: n.setdiff1d(x, y, **_sized(n, 40)),
    "setxor1d": lambda n, x, y: n.setxor1d(x, y, **_sized(n, 40)),
    "interp": lambda n, x, y: n.interp(y, n.sort(n.unique(x, **_same(n, x))), n.ravel(x)),
    "lexsort": lambda n, x, y: n.lexsort((n.resize(y, x.shape), x)),
    "array_equal": lambda n, x, y: n.array_equal(x, y),
    "append": lambda n, x, y: n.append(x, y),
    "select": lambda n, x, y: n.select([x > 0, x < -1], [x, x * 2], 7),
    "choose": lambda n, x, y: n.choose(n.asarray(x > 0).astype(np.int32), [x, x * 2], mode="clip"),
    "bincount": lambda n, x, y: n.bincount(abs(x).astype(np.int32), minlength=5, **_length(n)),
    "take": lambda n, x, y: n.take(y, np.array([0, -1]), mode="wrap"),
}


def _same(n, x):
    return {} if n is np else {"size": x.size}


def _length(n):
    return {} if n is np else {"length": 5}


SETS = ("union1d", "intersect1d", "setdiff1d", "setxor1d")


@pytest.mark.parametrize("name", OF_TWO)
@given(data=st.data())
def test_of_two(name, data):
    x, y = data.draw(arrays(DTYPES, VECTORS)), data.draw(arrays(DTYPES, ANY))
    f = OF_TWO[name]

    def oracle(x, y):
        found = f(np, x, y)
        return filled(found, 40) if name in SETS else found

    # NumPy promotes the dtypes differently, which changes positions in small dtypes.
    known = name not in ("interp", "lexsort", "select")
    agree(lambda n, _, x, y: f(n, n.asarray(x), n.asarray(y)), oracle if known else None, x, y)


METHODS = ["linear", "lower", "higher", "midpoint", "nearest"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
@given(data=st.data())
def test_quantiles(name, method, data):
    x = data.draw(arrays(["int32", "float32", "float16"], ANY))
    axis = data.draw(axes_of(x.ndim))
    scale = 100 if "percentile" in name else 1
    q = data.draw(st.sampled_from([0.0, 0.31, 1.0, np.array([0.1, 0.93], np.float32)])) * scale
    options = {"axis": axis, "method": method, "keepdims": data.draw(st.booleans())}
    # Half-way between two elements, the nearest depends on the rounding of the position. For a
    # scalar, JAX keeps one axis where NumPy keeps none.
    known = method != "nearest" and x.dtype != np.float16 and x.ndim
    agree(
        lambda n, _, x: getattr(n, name)(x, q, **options),
        (lambda x: getattr(np, name)(x, q, **options)) if known else None,
        x,
    )


@pytest.mark.parametrize("name", ["take_along_axis", "put_along_axis"])
@given(data=st.data())
def test_along(name, data):
    x = data.draw(arrays(DTYPES, st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple)))
    axis = data.draw(axes_of(x.ndim, several=False))
    inside = -x.ndim <= axis < x.ndim
    size = x.shape[axis] if inside else 1
    rows = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-size, size, x.shape)
    rows = rows.astype(np.int32)
    if name == "take_along_axis":
        agree(
            lambda n, _, x, i: n.take_along_axis(x, i, axis),
            (lambda x, i: np.take_along_axis(x, i.astype(int), axis)) if inside else None,
            x,
            rows,
        )
        return

    def oracle(x, i):
        x = x.copy()
        np.put_along_axis(x, i.astype(int), 5, axis)
        return x

    agree(
        lambda n, _, x, i: n.put_along_axis(n.asarray(x), i, 5, axis, inplace=False),
        oracle,
        x,
        rows,
    )
