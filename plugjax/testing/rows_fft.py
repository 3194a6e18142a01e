"""Rows of Fourier transforms. The differentiated function is real: the sum of both parts of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.testing.row import Op, complexes, real


def _parts(kind: str, lengths: tuple[int, ...]) -> Callable[[Any, Any], Any]:
    def call(lax: Any, x: Any) -> Any:
        y = lax.fft(x, kind, lengths)
        return lax.sub(lax.real(y), lax.imag(y))

    return call


def _both(transform: Callable[..., Any]) -> Callable[[Any], Any]:
    def oracle(x: Any) -> Any:
        y = transform(x)
        return y.real - y.imag

    return oracle


FOURIER = (
    Op("fft", lax.fft_p, lambda lax, x: lax.fft(x, "FFT", (6,)), np.fft.fft, complexes((4, 6)),
       rtol=1e-5),
    Op("fft of any size, its parts", lax.fft_p, _parts("FFT", (6,)), _both(np.fft.fft),
       complexes((4, 6)), 2, rtol=1e-5),
    Op("fft of a power of 2", lax.fft_p, _parts("FFT", (8,)), _both(np.fft.fft),
       complexes((3, 8)), 2, rtol=1e-5),
    Op("fft over two axes, inverse", lax.fft_p, _parts("IFFT", (3, 4)), _both(np.fft.ifft2),
       complexes((2, 3, 4)), 2, rtol=1e-5),
    Op("fft of reals", lax.fft_p, _parts("RFFT", (3, 5)), _both(np.fft.rfft2),
       real(-2, 2, (2, 3, 5)), 2, rtol=1e-5),
    Op("fft to reals", lax.fft_p, lambda lax, x: lax.fft(x, "IRFFT", (3, 6)),
       lambda x: np.fft.irfft2(x, (3, 6)), complexes((2, 3, 4)), 2, rtol=1e-5),
)  # fmt: skip
