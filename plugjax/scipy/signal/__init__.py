"""Signal processing: the names of ``jax.scipy.signal``."""

from plugjax.extend.transforms import publish
from plugjax.scipy.signal.direct import convolve, convolve2d, correlate, correlate2d
from plugjax.scipy.signal.fourier import fftconvolve
from plugjax.scipy.signal.inverse_stft import istft
from plugjax.scipy.signal.spectra import csd, stft, welch
from plugjax.scipy.signal.trends import detrend

__all__ = [
    "convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend", "fftconvolve", "istft", "stft", "welch",
]  # fmt: skip

publish(globals(), __all__)
