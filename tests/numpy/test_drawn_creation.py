"""Ranges, windows, indices, polynomials and dtypes: drawn arguments, most of them Python numbers."""

import itertools

import jax
import jax.numpy
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import plugjax
import plugjax.numpy
from tests.drawn import DTYPES, WIDE_DTYPES, agree, arrays, outcome

NUMBERS = st.sampled_from([-3, -1.5, 0, 1, 2.25, 7])
COUNTS = st.integers(0, 6)


def near(shape):
    """An end of a range: one number, or several."""
    several = arrays(["float32", "int32", "float16"], st.just(shape), low=1, high=4)
    return st.one_of(NUMBERS, several)


@given(data=st.data())
@pytest.mark.parametrize("dtype", [None, "int32", "float16"])
@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_ranges(name, dtype, data):
    start, stop = data.draw(near((2,))), data.draw(near((3, 2)))
    if name == "geomspace":
        start, stop = abs(start) + 1, abs(stop) + 1
    options = {"num": data.draw(COUNTS), "endpoint": data.draw(st.booleans()), "dtype": dtype}
    if name == "linspace":
        options["retstep"] = data.draw(st.booleans())
    options["axis"] = data.draw(st.sampled_from([0, -1]))
    # NumPy's step of an empty range is nan, and it truncates double-precision results to integers.
    steps = options["num"] - options["endpoint"] > 0
    known = name == "linspace" and dtype is None and steps
    agree(
        lambda n, _: getattr(n, name)(start, stop, **options),
        (lambda: getattr(np, name)(start, stop, **options)) if known else None,
    )


@given(data=st.data())
@pytest.mark.parametrize("dtype", [None, "float32", "int8", "uint16"])
def test_arange(dtype, data):
    args = data.draw(st.lists(NUMBERS, min_size=1, max_size=3))
    assume(len(args) < 3 or args[2])
    agree(lambda n, _: n.arange(*args, dtype=dtype), None)
    agree(lambda n, _: n.arange(*args), lambda: np.arange(*args))


@given(size=st.integers(0, 9), beta=st.sampled_from([0, 1.5, 14]))
@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning", "kaiser"])
def test_windows(name, size, beta):
    args = (size, beta) if name == "kaiser" else (size,)
    agree(lambda n, _: getattr(n, name)(*args), lambda: getattr(np, name)(*args))


INDICES = {
    "eye": lambda n, a, b, k: n.eye(a, b, k),
    "identity": lambda n, a, b, k: n.identity(a, "int16"),
    "tri": lambda n, a, b, k: n.tri(a, b, k),
    "tril_indices": lambda n, a, b, k: n.tril_indices(a, k, b),
    "triu_indices": lambda n, a, b, k: n.triu_indices(a, k, b),
    "tril_indices_from": lambda n, a, b, k: n.tril_indices_from(np.ones((a, b)), k),
    "triu_indices_from": lambda n, a, b, k: n.triu_indices_from(np.ones((a, b)), k),
    "diag_indices": lambda n, a, b, k: n.diag_indices(a, abs(k)),
    "indices": lambda n, a, b, k: n.indices((a, b)),
    "indices, open": lambda n, a, b, k: n.indices((a, b), sparse=True),
    "mgrid": lambda n, a, b, k: n.mgrid[0:a, k : b : max(a, 1)],
    "ogrid": lambda n, a, b, k: n.ogrid[0:a, k : b : max(a, 1)],
    "r_": lambda n, a, b, k: n.r_[0:a, k, b],
    "c_": lambda n, a, b, k: n.c_[np.arange(a), np.arange(a) * k],
    "full": lambda n, a, b, k: n.full((a, b), k),
    "zeros": lambda n, a, b, k: n.zeros((a, b), "uint8"),
    "ones": lambda n, a, b, k: n.ones(a, complex),
    "diag_indices_from": lambda n, a, b, k: n.diag_indices_from(np.ones((a, a))),
    "fromfunction": lambda n, a, b, k: n.fromfunction(lambda i, j: i * k + j, (a, b)),
    "broadcast_shapes": lambda n, a, b, k: n.zeros(n.broadcast_shapes((a, 1), (b,))),
}


@given(a=st.integers(0, 4), b=st.integers(0, 4), k=st.integers(-2, 3))
@pytest.mark.parametrize("name", INDICES)
def test_indices(name, a, b, k):
    f = INDICES[name]
    agree(lambda n, _: f(n, a, b, k), lambda: f(np, a, b, k))


@given(data=st.data())
@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_places_and_their_numbers(mode, data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
    size = int(np.prod(shape))
    places = np.array(data.draw(st.lists(st.integers(0, size - 1), max_size=4)), np.int32)
    agree(lambda n, _, i: n.unravel_index(i, shape), lambda i: np.unravel_index(i, shape), places)
    several = np.stack([np.roll(places, k) + k for k in range(len(shape))])
    agree(
        lambda n, _, i: n.ravel_multi_index(tuple(i), shape, mode=mode),
        lambda i: np.ravel_multi_index(tuple(i), shape, mode=mode),
        several,
    )


POLYNOMIALS = {
    "polyadd": lambda n, p, q: n.polyadd(p, q),
    "polysub": lambda n, p, q: n.polysub(p, q),
    "polymul": lambda n, p, q: n.polymul(p, q),
    "polyval": lambda n, p, q: n.polyval(p, q),
    "poly": lambda n, p, q: n.poly(p),
    "corrcoef": lambda n, p, q: n.corrcoef(n.append(p, 9), n.append(p, 9) * 2),
    "histogram2d": lambda n, p, q: n.histogram2d(p, p, bins=3, range=[[-4, 4], [-4, 4]]),
    "histogramdd": lambda n, p, q: n.histogramdd(n.stack([p, p], -1), bins=2, range=[[-4, 4], [-9, 4]])[0],
    "vectorize": lambda n, p, q: n.vectorize(lambda a, b: a * b, signature="(),(k)->(k)")(p, q),
    "polyfit": lambda n, p, q: n.polyfit(np.arange(5.0, dtype="f"), n.resize(p, 5), 2),
}  # fmt: skip


@given(data=st.data())
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name, data):
    vectors = arrays(
        ["int32", "float32", "float16", "complex64"], st.integers(1, 4).map(lambda n: (n,))
    )
    p, q = data.draw(vectors), data.draw(vectors)
    f = POLYNOMIALS[name]
    # NumPy computes some in the small dtype, others in double precision, and drops leading zeros.
    known = p.dtype == q.dtype == np.float32 and (name != "poly" or p.all())
    agree(
        lambda n, _, p, q: f(n, n.asarray(p), n.asarray(q)),
        (lambda p, q: f(np, p, q)) if known else None,
        p,
        q,
    )


@given(data=st.data())
def test_a_diagonal_is_filled(data):
    rows, columns = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    x = data.draw(arrays(["int32", "float32", "bool"], st.just((rows, columns))))
    wrap = data.draw(st.booleans())

    def oracle(x):
        x = x.copy()
        np.fill_diagonal(x, 1, wrap)
        return x

    agree(lambda n, _, x: n.fill_diagonal(x, 1, wrap, inplace=False), oracle, x)


ALL_DTYPES = [*DTYPES, *WIDE_DTYPES, "bfloat16"]
SCALARS = [bool, int, float, complex]


@pytest.mark.parametrize("wide", [False, True], ids=["x32", "x64"])
@pytest.mark.parametrize("name", ["promote_types", "result_type", "can_cast", "issubdtype"])
def test_pairs_of_dtypes(name, wide):
    """All pairs, without drawing."""
    for a, b in itertools.product([*ALL_DTYPES, *SCALARS], repeat=2):
        if name == "issubdtype":
            kinds = ["integer", "floating", "inexact", "number", "signedinteger", "generic"]
            calls = [lambda n, a=a, k=k: n.issubdtype(a, getattr(n, k)) for k in kinds]
        else:
            calls = [lambda n, a=a, b=b: getattr(n, name)(a, b)]
        for call in calls:
            with plugjax.enable_x64(wide), jax.enable_x64(wide):
                ours = outcome(lambda: call(plugjax.numpy))  # noqa: B023
                theirs = outcome(lambda: call(jax.numpy))  # noqa: B023
            if isinstance(theirs, Exception):
                assert isinstance(ours, Exception), (a, b, ours, theirs)
            else:
                assert ours == theirs, (a, b, ours, theirs)


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_limits_of_dtypes(dtype):
    kind = "finfo" if np.dtype(dtype).kind in "fcV" else "iinfo"
    theirs = outcome(lambda: getattr(jax.numpy, kind)(dtype))
    ours = outcome(lambda: getattr(plugjax.numpy, kind)(dtype))
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception)
    else:
        assert (ours.min, ours.max, ours.bits) == (theirs.min, theirs.max, theirs.bits)
