"""Linear algebra, signals, transforms and samples of `scipy` on drawn dtypes, shapes and options."""

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.stats
from hypothesis import assume, given, strategies as st

from tests.drawn import agree, arrays, axes_of

REALS = ["float32", "float16", "int32", "int8", "bool"]
FLOATS = ["float32", "complex64"]
SIZES = st.integers(1, 4)
BATCH = st.lists(st.integers(1, 3), max_size=1).map(tuple)


# Of one well-conditioned square matrix.
MATRICES = {
    "det": lambda s, a: s.linalg.det(a),
    "inv": lambda s, a: s.linalg.inv(a),
    "expm": lambda s, a: s.linalg.expm(a / 4),
    "lu_factor": lambda s, a: s.linalg.lu_factor(a),
    "lu": lambda s, a: s.linalg.lu(a)[1:],
    "cholesky": lambda s, a: s.linalg.cholesky(_definite(a), lower=True),
    "cho_factor": lambda s, a: abs(s.linalg.cho_factor(_definite(a), lower=True)[0])[..., -1, :],
    "svd of values": lambda s, a: s.linalg.svd(a, compute_uv=False),
    "eigh of values": lambda s, a: s.linalg.eigh(_definite(a), eigvals_only=True),
    "qr, its size": lambda s, a: abs(s.linalg.qr(a, mode="economic")[1]),
    "polar": lambda s, a: s.linalg.polar(a)[1],
    "sqrtm": lambda s, a: s.linalg.sqrtm(_definite(a)),
    "hessenberg, its size": lambda s, a: abs(s.linalg.hessenberg(a)),
}


def _definite(a):
    return a @ a.conj().mT if hasattr(a, "mT") else a @ np.swapaxes(a.conj(), -1, -2)


@st.composite
def square(draw, dtypes):
    n = draw(SIZES)
    a = draw(arrays(dtypes, st.just((n, n))))
    return (a + 5 * np.eye(n)).astype(a.dtype)


@given(data=st.data())
@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name, data):
    a = data.draw(square(FLOATS))
    f = MATRICES[name]
    agree(lambda n, j, a: f(j.scipy, n.asarray(a)), lambda a: f(scipy, a), a, tolerance=20)


# Of a square matrix and right-hand sides.
SYSTEMS = {
    "solve": lambda s, a, b: s.linalg.solve(a, b),
    "solve_triangular": lambda s, a, b: s.linalg.solve_triangular(a, b, lower=True),
    "solve_triangular of the transpose": lambda s, a, b: s.linalg.solve_triangular(a, b, trans="T"),
    "lu_solve": lambda s, a, b: s.linalg.lu_solve(s.linalg.lu_factor(a), b),
    "cho_solve": lambda s, a, b: s.linalg.cho_solve(s.linalg.cho_factor(_definite(a)), b),
    "expm_frechet": lambda s, a, b: s.linalg.expm_frechet(a / 4, a / 9)[1],
    "solve_sylvester": lambda s, a, b: s.linalg.solve_sylvester(a, a, b[:, None] if b.ndim == 1 else b)
    if b.shape == a.shape
    else b,
}  # fmt: skip


@given(data=st.data())
@pytest.mark.parametrize("name", SYSTEMS)
def test_systems(name, data):
    dtype = data.draw(st.sampled_from(FLOATS))
    a = data.draw(square([dtype]))
    columns = data.draw(st.sampled_from([(), (1,), (3,), (len(a),)]))
    b = data.draw(arrays([dtype], st.just((len(a), *columns))))
    f = SYSTEMS[name]
    agree(
        lambda n, j, a, b: f(j.scipy, n.asarray(a), n.asarray(b)),
        lambda a, b: f(scipy, a, b),
        a,
        b,
        tolerance=20,
    )


# Matrices from vectors and from numbers.
SPECIAL = {
    "toeplitz": lambda s, v, n: s.linalg.toeplitz(v),
    "toeplitz of two": lambda s, v, n: s.linalg.toeplitz(v, v * 2),
    "hankel": lambda s, v, n: s.linalg.hankel(v),
    "circulant": lambda s, v, n: s.linalg.circulant(v),
    "companion": lambda s, v, n: s.linalg.companion(v + 4),
    "fiedler": lambda s, v, n: s.linalg.fiedler(v),
    "convolution_matrix": lambda s, v, n: s.linalg.convolution_matrix(v, n, "same"),
    "block_diag": lambda s, v, n: s.linalg.block_diag(v, v[:, None], 1),
    "leslie": lambda s, v, n: s.linalg.leslie(v, v[1:]),
    "hilbert": lambda s, v, n: s.linalg.hilbert(n),
    "pascal": lambda s, v, n: s.linalg.pascal(n),
    "invhilbert": lambda s, v, n: s.linalg.invhilbert(n),
    "dft": lambda s, v, n: s.linalg.dft(n),
    "helmert": lambda s, v, n: s.linalg.helmert(n + 1),
    "hadamard": lambda s, v, n: s.linalg.hadamard(2 ** (n % 4)),
}


@given(data=st.data())
@pytest.mark.parametrize("name", SPECIAL)
def test_special_matrices(name, data):
    v = data.draw(arrays(["float32", "int32", "complex64"], st.integers(1, 4).map(lambda n: (n,))))
    n = data.draw(st.integers(1, 5))
    f = SPECIAL[name]
    agree(lambda _, j, v: f(j.scipy, v, n), lambda v: f(scipy, v, n), v)


SIGNALS = {
    "convolve": lambda s, x, y, mode: s.signal.convolve(x, y, mode),
    "convolve, direct": lambda s, x, y, mode: s.signal.convolve(x, y, mode, method="direct"),
    "correlate": lambda s, x, y, mode: s.signal.correlate(x, y, mode),
    "fftconvolve": lambda s, x, y, mode: s.signal.fftconvolve(x, y, mode),
    "convolve2d": lambda s, x, y, mode: s.signal.convolve2d(x, y, mode),
    "correlate2d": lambda s, x, y, mode: s.signal.correlate2d(x, y, mode),
}


@given(data=st.data())
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", SIGNALS)
def test_signals(name, mode, data):
    rank = 2 if name.endswith("2d") else data.draw(st.integers(1, 2))
    large = data.draw(st.lists(st.integers(3, 6), min_size=rank, max_size=rank).map(tuple))
    small = tuple(data.draw(st.integers(1, n)) for n in large)
    dtype = data.draw(st.sampled_from(["float32", "complex64", "int32"]))
    x, y = (data.draw(arrays([dtype], st.just(shape))) for shape in (large, small))
    f = SIGNALS[name]
    known = dtype != "int32"
    agree(
        lambda _, j, x, y: f(j.scipy, x, y, mode),
        (lambda x, y: f(scipy, x, y, mode)) if known else None,
        x,
        y,
        tolerance=20,
    )


ALONG = {
    "detrend": lambda s, x, axis: s.signal.detrend(x, axis),
    "detrend, constant": lambda s, x, axis: s.signal.detrend(x, axis, "constant"),
    "dct": lambda s, x, axis: s.fft.dct(x, axis=axis),
    "dct, ortho": lambda s, x, axis: s.fft.dct(x, axis=axis, norm="ortho"),
    "idct": lambda s, x, axis: s.fft.idct(x, axis=axis),
    "dctn": lambda s, x, axis: s.fft.dctn(x, axes=[axis]),
    "idctn": lambda s, x, axis: s.fft.idctn(x, axes=[axis], norm="ortho"),
    "trapezoid": lambda s, x, axis: s.integrate.trapezoid(x, axis=axis),
    "trapezoid, dx": lambda s, x, axis: s.integrate.trapezoid(x, dx=0.25, axis=axis),
    "rankdata": lambda s, x, axis: s.stats.rankdata(x, axis=axis),
    "rankdata, dense": lambda s, x, axis: s.stats.rankdata(x, "dense", axis=axis),
    "rankdata, max": lambda s, x, axis: s.stats.rankdata(x, "max", axis=axis),
    "mode": lambda s, x, axis: tuple(s.stats.mode(x, axis=axis)),
    "sem": lambda s, x, axis: s.stats.sem(x, axis=axis),
    "sem, ddof": lambda s, x, axis: s.stats.sem(x, axis=axis, ddof=0),
}


@pytest.mark.spread(2)
@given(data=st.data())
@pytest.mark.parametrize("name", ALONG)
def test_along_an_axis(name, data):
    x = data.draw(arrays(REALS, st.lists(st.integers(2, 5), min_size=1, max_size=3).map(tuple)))
    axis = data.draw(axes_of(x.ndim, several=False))
    f = ALONG[name]
    known = x.dtype == np.float32
    agree(
        lambda _, j, x: f(j.scipy, x, axis),
        (lambda x: f(scipy, x, axis)) if known else None,
        x,
        tolerance=5,
    )


@given(data=st.data())
@pytest.mark.parametrize("mode", ["constant", "nearest", "mirror", "reflect", "wrap"])
@pytest.mark.parametrize("order", [0, 1])
def test_coordinates(order, mode, data):
    x = data.draw(
        arrays(["float32", "int32"], st.lists(st.integers(2, 4), min_size=1, max_size=2).map(tuple))
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    at = rng.uniform(-3, 6, (x.ndim, 5)).astype(np.float32)
    # SciPy's order 0 rounds halves differently, and it interpolates differently at the edge.
    known = x.dtype == np.float32 and order == 1 and mode in ("nearest", "mirror", "reflect")
    oracle = (
        (lambda x, at: scipy.ndimage.map_coordinates(x, list(at), order=1, mode=mode))
        if known
        else None
    )
    agree(
        lambda _, j, x, at: j.scipy.ndimage.map_coordinates(x, list(at), order, mode, 7),
        oracle,
        x,
        at,
    )


@given(data=st.data())
def test_vector_quantization(data):
    n, k, d = (data.draw(SIZES) for _ in range(3))
    x, book = (data.draw(arrays(["float32"], st.just((count, d)))) for count in (n, k))
    assume(len(np.unique(book, axis=0)) == k)
    agree(
        lambda _, j, x, book: j.scipy.cluster.vq.vq(x, book),
        lambda x, b: scipy.cluster.vq.vq(x, b),
        x,
        book,
    )
