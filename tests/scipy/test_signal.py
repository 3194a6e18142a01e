"""``plugjax.scipy.signal``: values against SciPy, dtypes and errors against JAX, compiled for each backend."""

import jax
import jax.scipy.signal as theirs
import numpy as np
import pytest
import scipy.signal

import plugjax
import plugjax.scipy.signal as ours
from plugjax.scipy.signal.windows import window_array

RNG = np.random.default_rng(3)
X = RNG.normal(size=50).astype(np.float32)
XS = RNG.normal(size=(3, 40, 2)).astype(np.float32)
Z = (X + 1j * X[::-1]).astype(np.complex64)
SPECTRA = (RNG.normal(size=(3, 9, 7)) + 1j * RNG.normal(size=(3, 9, 7))).astype(np.complex64)

SHAPES = [((5,), (3,)), ((3,), (5,)), ((4,), (2,)), ((5, 4), (3, 2)), ((3, 2), (5, 5)), ((4, 4), (4, 4)), ((4, 3, 5), (2, 3, 4))]  # fmt: skip
CONVOLUTIONS = ["convolve", "correlate", "fftconvolve", "convolve2d", "correlate2d"]


def close(found, expected, tolerance=2e-5):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * (1 + abs(expected).max()))


def pair(shapes, kind):
    rng = np.random.default_rng(5)
    x, y = (5 * rng.normal(size=s) for s in shapes)
    if kind == "complex64":
        x, y = x + 1j * rng.normal(size=x.shape), y + 1j * rng.normal(size=y.shape)
    return x.astype(kind), y.astype(kind)


@pytest.mark.parametrize("kind", ["float32", "complex64", "int32"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, mode, kind):
    for shapes in SHAPES:
        if name.endswith("2d") and len(shapes[0]) != 2:
            continue
        x, y = pair(shapes, kind)
        try:
            expected = getattr(scipy.signal, name)(x, y, mode)
        except ValueError:
            with pytest.raises(ValueError):
                getattr(ours, name)(x, y, mode)
            continue
        found = getattr(ours, name)(x, y, mode)
        assert found.dtype == ("complex64" if kind == "complex64" else "float32")
        close(found, expected)


def test_convolution_along_some_axes():
    x, y = XS, XS[:, :7]
    for axes in (1, -2, [1], (1, 1)):
        close(ours.fftconvolve(x, y, axes=axes), scipy.signal.fftconvolve(x, y, axes=1))
    close(ours.convolve(X, X[:4], method="fft"), np.convolve(X, X[:4]))


@pytest.mark.parametrize(
    "expression",
    [
        lambda s: s.convolve(np.ones(3), np.ones(2), "x"),
        lambda s: s.convolve(np.ones(3), np.ones((2, 2))),
        lambda s: s.convolve(np.ones(0), np.ones(2)),
        lambda s: s.convolve(np.ones((3, 1)), np.ones((1, 3))),
        lambda s: s.convolve(np.ones(3), np.ones(2), method="x"),
        lambda s: s.convolve2d(np.ones(3), np.ones(2)),
        lambda s: s.convolve2d(np.ones((3, 1)), np.ones((1, 1)), boundary="wrap"),
        lambda s: s.correlate2d(np.ones((3, 1)), np.ones((1, 1)), fillvalue=1),
        lambda s: s.fftconvolve(np.ones((3, 1)), np.ones((2, 2)), axes=0),
        lambda s: s.fftconvolve(np.ones((3, 1)), np.ones((1, 3)), "valid"),
        lambda s: s.detrend(X, type="x"),
        lambda s: s.detrend(X, bp=51),
        lambda s: s.detrend(X, overwrite_data=True),
        lambda s: s.welch(X, nperseg=0),
        lambda s: s.welch(X, nperseg=8, noverlap=8),
        lambda s: s.welch(X, nperseg=8, nfft=4),
        lambda s: s.welch(X, nperseg=8, detrend="x"),
        lambda s: s.welch(X, nperseg=8, scaling="x"),
        lambda s: s.welch(X, nperseg=8, average="x"),
        lambda s: s.welch(X, nperseg=8, axis=1),
        lambda s: s.welch(X, window=np.ones((2, 2))),
        lambda s: s.welch(X, window=np.ones(60)),
        lambda s: s.welch(X, window=np.ones(8), nperseg=9),
        lambda s: s.welch(X, window="nothing"),
        lambda s: s.stft(X, nperseg=8, boundary="x"),
        lambda s: s.csd(X, XS),
        lambda s: s.istft(SPECTRA[0, 0]),
        lambda s: s.istft(SPECTRA, time_axis=1, freq_axis=1),
        lambda s: s.istft(SPECTRA, noverlap=16),
        lambda s: s.istft(SPECTRA, nfft=10),
        lambda s: s.istft(SPECTRA, window=np.ones(15)),
    ],
)
def test_refused_as_in_jax(agree, expression):
    agree(expression, ours, theirs)


def test_windows():
    parameters = {"kaiser": (8.6,), "gaussian": (3.0,), "general_cosine": ([0.3, 0.4, 0.3],), "general_gaussian": (1.5, 3.0),
                  "general_hamming": (0.6,), "chebwin": (60,), "tukey": (0.25,), "exponential": (None, 3.0), "taylor": (5, 40, False)}  # fmt: skip
    plain = "hann hamming blackman nuttall blackmanharris flattop bartlett lanczos triang parzen bohman barthann cosine boxcar"
    named = [*plain.split(), "tukey", "taylor", "exponential", "poisson", *parameters.items()]
    for window in named:
        window = window if isinstance(window, str) else (window[0], *window[1])
        for n in (1, 2, 7, 8):
            found = window_array(window, n, np.dtype(np.float32))
            np.testing.assert_allclose(found, scipy.signal.get_window(window, n), atol=3e-7)


OPTIONS = [
    {"nperseg": 16},
    {"nperseg": 15, "noverlap": 3},
    {"nperseg": 16, "nfft": 21, "noverlap": 0},
    {"nperseg": 16, "window": "hamming", "fs": 3.0},
    {"nperseg": 1, "noverlap": 0},
    {"window": np.hanning(8).astype(np.float32), "nperseg": 8},
    {"nperseg": 40, "window": ("tukey", 0.25)},
    {"nperseg": 16, "detrend": "linear"},
    {"nperseg": 16, "detrend": False},
    {"nperseg": 16, "detrend": lambda d: d - 1.5 * d[..., :1]},
    {"nperseg": 16, "return_onesided": False},
]


@pytest.mark.filterwarnings("ignore:Input data is complex")  # SciPy and JAX.
@pytest.mark.filterwarnings("ignore:.*complex signals have spectra of both sides")
@pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))
def test_spectra(options):
    whole = callable(options.get("detrend"))
    for x, axis in ((X, -1), (XS, 1), (Z, 0), (XS[0], -2)):
        if whole and axis != -1:
            continue
        given = {"axis": axis, **options}
        calls = [
            lambda s, x=x, o=given: s.welch(x, **o),
            lambda s, x=x, o=given: s.welch(x, scaling="spectrum", average="median", **o),
            lambda s, x=x, o=given: s.csd(x, x[..., ::-1].copy(), average="median", **o),
            lambda s, x=x, o=given: s.csd(x, x[:30] if x.ndim == 1 else x + 1, **o),
            *(
                lambda s, x=x, o=given, b=b: s.stft(x, boundary=b, padded=b != "even", **o)
                for b in (None, "zeros", "odd", "even", "constant")
            ),
        ]
        for call in calls:
            for y, z in zip(call(ours), call(scipy.signal), strict=True):
                close(y, z)


def test_empty_and_short_signals():
    for call in (
        lambda s: s.stft(XS[:0], nperseg=16, axis=1),
        lambda s: s.csd(XS[:0], XS[:1], axis=1),
        lambda s: s.welch(X[:0]),
    ):
        for y, z in zip(call(ours), call(scipy.signal), strict=True):
            assert y.shape == z.shape
    assert ours.detrend(X[:0]).shape == (0,)
    with pytest.warns(UserWarning, match="using nperseg"):
        ours.stft(X)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nperseg": 17},
        {"nperseg": 10},
        {"noverlap": 0},
        {"noverlap": 3},
        {"nperseg": 10, "nfft": 16},
        {"input_onesided": False, "nperseg": 8, "noverlap": 7},
        {"boundary": False, "window": "hamming", "fs": 2.0},
        {"time_axis": 0},
        {"time_axis": -2, "freq_axis": -1},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:NOLA condition failed")
def test_inverse_stft(options):
    found, wanted = (s.istft(SPECTRA, **options) for s in (ours, scipy.signal))
    for y, z in zip(found, wanted, strict=True):
        close(y, z)


def test_detrended():
    for x in (X, XS, Z):
        for options in ({}, {"axis": 0}, {"type": "constant"}, {"bp": [7, 2]}):
            if options.get("bp") and x.shape[-1] < 8:
                continue
            close(ours.detrend(x, **options), scipy.signal.detrend(x, **options))


def several(s, x, y):
    return [
        s.correlate(x, y[:, :5], "same"),
        s.csd(x, y, nperseg=8, average="median"),
        s.istft(s.stft(x, nperseg=8, boundary="even")[2])[1],
    ]


def more(s, x, y):
    return [
        s.fftconvolve(x, y[:, :5], "valid", axes=1),
        s.welch(x, nperseg=8, window=y[0, :8], scaling="spectrum"),
        s.detrend(x, bp=7),
    ]


def test_compiled_for_a_backend(on_backend):
    x, y = X[:48].reshape(2, 24), XS[0, :24].T.copy()
    found = plugjax.jit(lambda x, y: several(ours, x, y))(x, y)
    with plugjax.default_device("numpy"):
        expected = several(ours, x, y)
    for a, b in zip(plugjax.tree.leaves(found), plugjax.tree.leaves(expected), strict=True):
        close(a, b)


def test_dtypes_and_gradients_are_those_of_jax():
    x, y = X[:48].reshape(2, 24), XS[0, :24].T.copy()

    def loss(s, tree):
        def f(x, y):
            found = several(s, x, y) + more(s, x, y)
            return sum((abs(z) ** 2).sum() for z in tree.leaves(found)), found

        return f

    (_, found), bars = plugjax.value_and_grad(loss(ours, plugjax.tree), (0, 1), has_aux=True)(x, y)
    theirs_too = jax.jit(jax.value_and_grad(loss(theirs, jax.tree), (0, 1), has_aux=True))
    (_, wanted), their_bars = theirs_too(x, y)
    for a, b in zip(plugjax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert (a.dtype, a.weak_type) == (b.dtype, b.weak_type)
        close(a, b)
    for a, b in zip(bars, their_bars, strict=True):
        close(a, b, 1e-4)


def test_batches():
    x = X.reshape(5, 10)
    rows = plugjax.vmap(lambda x: ours.welch(x, nperseg=8))(x)[1]
    close(rows, ours.welch(x, nperseg=8)[1])
