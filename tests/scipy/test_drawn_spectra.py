"""Short-time Fourier transforms and spectral densities of `scipy.signal` with drawn options: values against SciPy, the rest against JAX."""

import math

import numpy as np
import pytest
import scipy.signal
from hypothesis import given, strategies as st

from tests.drawn import agree, arrays

DTYPES = ["float32", "float32", "complex64", "int32"]
WINDOWS = st.sampled_from(["hann", "boxcar", "hamming", ("tukey", 0.5), None])
SHAPES = st.sampled_from([(24,), (2, 24), (24, 3), (7,), (2, 0)])


@st.composite
def segments(draw, of_array=True):
    """Sizes of segments, sometimes refused by JAX or SciPy."""
    nperseg = draw(st.sampled_from([8, 8, 7, 4, None, 30, 0]))
    options = {"nperseg": nperseg}
    if nperseg and draw(st.booleans()):
        options["noverlap"] = draw(st.integers(0, min(nperseg, 12)))
    if nperseg and draw(st.booleans()):
        options["nfft"] = nperseg + draw(st.sampled_from([0, 1, 8, -2]))
    window = draw(WINDOWS)
    if window is not None:
        options["window"] = window
    elif nperseg and of_array:
        options["window"] = np.linspace(0.5, 1, nperseg).astype(np.float32)
    return options


def with_axis(draw, x, options):
    if not x.size and isinstance(options.get("window"), (str, tuple)):
        # JAX asks SciPy for the others, which has none without values.
        options["window"] = "hann"
    options["axis"] = draw(st.sampled_from([-1, -1, 0, 2])) if x.ndim > 1 else -1
    return options


@pytest.mark.filterwarnings("ignore")
@given(data=st.data())
def test_short_time_fourier_transform(data):
    draw = data.draw
    x = draw(arrays(DTYPES, SHAPES))
    options = with_axis(draw, x, draw(segments())) | {
        "fs": draw(st.sampled_from([1.0, 4.0])),
        "boundary": draw(st.sampled_from(["zeros", None, "even", "odd", "constant", "none"])),
        "padded": draw(st.booleans()),
        "return_onesided": draw(st.booleans()),
        "detrend": draw(st.sampled_from([False, "constant", "linear"])),
    }
    agree(
        lambda _, j, x: j.scipy.signal.stft(x, **options),
        (lambda x: scipy.signal.stft(x, **options)) if x.dtype != np.int32 else None,
        x,
        tolerance=20,
    )


def density_options(draw, x):
    return with_axis(draw, x, draw(segments())) | {
        "fs": draw(st.sampled_from([1.0, 4.0])),
        "detrend": draw(st.sampled_from([False, "constant", "linear"])),
        "return_onesided": draw(st.booleans()),
        "scaling": draw(st.sampled_from(["density", "spectrum", "other"])),
        "average": draw(st.sampled_from(["mean", "median"])),
    }


@pytest.mark.filterwarnings("ignore")
@given(data=st.data())
def test_power_spectral_density(data):
    x = data.draw(arrays(DTYPES, SHAPES))
    options = density_options(data.draw, x)
    agree(
        lambda _, j, x: j.scipy.signal.welch(x, **options),
        (lambda x: scipy.signal.welch(x, **options)) if x.dtype != np.int32 else None,
        x,
        tolerance=20,
    )


@pytest.mark.filterwarnings("ignore")
@given(data=st.data())
def test_cross_spectral_density(data):
    # Two empty signals have spectra of wrong shapes in JAX, which reads the axis as a size.
    x = data.draw(arrays(DTYPES, SHAPES.filter(math.prod)))
    y = data.draw(arrays([x.dtype.name], st.sampled_from([x.shape, x.shape, (11,)])))
    options = density_options(data.draw, x)
    known = x.dtype != np.int32 and x.shape == y.shape
    agree(
        lambda _, j, x, y: j.scipy.signal.csd(x, y, **options),
        (lambda x, y: scipy.signal.csd(x, y, **options)) if known else None,
        x,
        y,
        tolerance=20,
    )


@pytest.mark.filterwarnings("ignore")
@given(data=st.data())
def test_inverse_of_the_short_time_fourier_transform(data):
    """From spectra that are not the transform of a signal; one axis of frequencies, one of times."""
    draw = data.draw
    onesided = draw(st.booleans())
    frequencies, times = draw(st.sampled_from([5, 8, 9])), draw(st.integers(1, 6))
    shape = draw(st.sampled_from([(frequencies, times), (2, frequencies, times)]))
    z = draw(arrays(["complex64", "complex64", "float32"], st.just(shape)))
    length = 2 * (frequencies - 1) if onesided else frequencies
    options = {
        "input_onesided": onesided,
        "boundary": draw(st.booleans()),
        "window": draw(st.sampled_from(["hann", "boxcar"])),
        "scaling": draw(st.sampled_from(["spectrum", "psd", "other"])),
    }
    if draw(st.booleans()):
        options |= {"nperseg": length, "noverlap": length // 2}
    if draw(st.integers(0, 4)) == 0:
        options |= {"time_axis": -2, "freq_axis": -1}
    if draw(st.integers(0, 4)) == 0:
        options["nfft"] = draw(st.sampled_from([length, length - 1, length + 2]))
    # Where no window covers a sample, the quotient is noise.
    known = options["window"] == "boxcar" or (options["boundary"] and times > 2)
    agree(
        lambda _, j, z: j.scipy.signal.istft(z, **options),
        (lambda z: scipy.signal.istft(z, **options)) if known else None,
        z,
        tolerance=50,
    )
