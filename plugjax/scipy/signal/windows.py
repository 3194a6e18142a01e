"""Windows by name: factors of a segment before its transform.

A window of ``n`` values is one period: ``n + 1`` values that are symmetric, without the last. ``x`` goes from -1 to 1
over these, and ``half`` is the distance of the middle from either end, in samples. Formulas are those of F. J. Harris,
"On the use of windows for harmonic analysis with the discrete Fourier transform", 1978, with coefficients as SciPy has
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import plugjax.numpy as jnp
from plugjax.extend.dtypes import DType, has_arrays
from plugjax.numpy.promotion import ArrayLike, Operand, as_operand

Values: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Window: TypeAlias = Callable[..., Any]


def window_array(window: str | tuple[Any, ...] | ArrayLike, size: int, dtype: DType) -> Operand:
    """The window as a vector.

    Args:
        window: its values, its name, or its name and parameters.
        size: number of values of a named window.
        dtype: dtype of a named window.

    Raises:
        ValueError: an unknown name, one without its parameters, or values that are not a vector.
    """
    if isinstance(window, (str, tuple)):
        return jnp.asarray(_values(window, size).astype(dtype))
    if isinstance(window, np.ndarray) and not has_arrays(window.dtype):
        # NumPy dtypes of other kinds, such as dates.
        window = window.astype(dtype)
    values = as_operand("window", window)
    if values.ndim != 1:
        raise ValueError("the values of a window need one axis.")
    return values


def _values(window: str | tuple[Any, ...], size: int) -> Values:
    name, *parameters = (window,) if isinstance(window, str) else window
    name = _ALIASES.get(name, name)
    if name not in _WINDOWS:
        raise ValueError(
            f"Unknown window type {name!r}: known are {', '.join(sorted(_WINDOWS))}. Pass the values of another as an array."
        )
    if size == 1:
        return np.ones(1)
    half = size / 2
    try:
        found = _WINDOWS[name](np.arange(size) / half - 1, half, *parameters)
    except TypeError as error:
        raise ValueError(
            f"window {window!r}: a name, and the parameters that it needs, in a tuple ({error})"
        ) from None
    return np.asarray(found, np.float64)


def _cosines(x: Values, half: float, coefficients: Any) -> Any:
    return sum(a * np.cos(k * np.pi * x) for k, a in enumerate(coefficients))


def _fixed(*coefficients: float) -> Window:
    return lambda x, half: _cosines(x, half, coefficients)


def _general_hamming(x: Values, half: float, alpha: float) -> Any:
    return _cosines(x, half, (alpha, 1 - alpha))


def _triangle(x: Values, half: float) -> Any:
    # The ends are one step above zero, or half a step if no value is in the middle.
    return 1 - abs(x) * half / (half + (0.5 if half % 1 else 1))


def _parzen(x: Values, half: float) -> Any:
    r = abs(x) * half / (half + 0.5)
    return np.where(abs(x) > 0.5, 2 * (1 - r) ** 3, 1 - 6 * r**2 + 6 * r**3)


def _bohman(x: Values, half: float) -> Any:
    return (1 - abs(x)) * np.cos(np.pi * x) + np.sin(np.pi * abs(x)) / np.pi


def _barthann(x: Values, half: float) -> Any:
    return 0.62 - 0.24 * abs(x) + 0.38 * np.cos(np.pi * x)


def _cosine(x: Values, half: float) -> Any:
    return np.cos(np.pi / 2 * x * half / (half + 0.5))


def _exponential(x: Values, half: float, center: float | None = None, tau: float = 1.0) -> Any:
    return np.exp(-abs(x * half if center is None else (x + 1) * half - center) / tau)


def _tukey(x: Values, half: float, alpha: float = 0.5) -> Any:
    alpha = min(alpha, 1)
    if alpha <= 0:
        return np.ones_like(x)
    return 0.5 + 0.5 * np.cos(np.pi * np.maximum(abs(x) - (1 - alpha), 0) / alpha)


def _taylor(x: Values, half: float, nbar: int = 4, sll: float = 30, norm: bool = True) -> Any:
    """T. T. Taylor, "Design of line-source antennas for narrow beamwidth and low side lobes", 1955."""
    level = np.arccosh(10 ** (sll / 20)) / np.pi
    orders = np.arange(1, nbar)
    widened = nbar**2 / (level**2 + (nbar - 0.5) ** 2)
    zeros = widened * (level**2 + (orders - 0.5) ** 2)
    coefficients = [1.0]
    for m in orders:
        others = orders[orders != m]
        top = np.prod(1 - m**2 / zeros)
        coefficients.append((-1) ** (m + 1) * top / np.prod(1 - (m / others) ** 2))
    found = _cosines(x * half / (half + 0.5), half, coefficients)
    return found / sum(coefficients) if norm else found


def _kaiser(x: Values, half: float, beta: float) -> Any:
    return np.i0(beta * np.sqrt(1 - x**2)) / np.i0(beta)


def _gaussian(x: Values, half: float, std: float) -> Any:
    return _general_gaussian(x, half, 1, std)


def _general_gaussian(x: Values, half: float, p: float, sig: float) -> Any:
    return np.exp(-0.5 * abs(x * half / sig) ** (2 * p))


def _chebyshev(x: Values, half: float, at: float) -> Any:
    """C. L. Dolph, "A current distribution for broadside arrays", 1946: the spectrum is a Chebyshev polynomial."""
    order = round(2 * half)
    k = np.arange(order + 1)
    spread = np.cosh(np.arccosh(10 ** (abs(at) / 20)) / order) * np.cos(np.pi * k / (order + 1))
    inside = np.cos(order * np.arccos(np.clip(spread, -1, 1)))
    outside = np.sign(spread) ** order * np.cosh(order * np.arccosh(np.maximum(abs(spread), 1)))
    spectrum = np.where(abs(spread) <= 1, inside, outside)
    # The inverse transform around the middle, which lies between two values if their number is
    # even.
    found = np.fft.fft(spectrum * np.exp(1j * np.pi * k * order / (order + 1))).real
    return (found / found.max())[:-1]


_WINDOWS: dict[str, Window] = {
    "boxcar": _fixed(1.0),
    "hann": _fixed(0.5, 0.5),
    "hamming": _fixed(0.54, 0.46),
    "blackman": _fixed(0.42, 0.5, 0.08),
    "nuttall": _fixed(0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": _fixed(0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": _fixed(0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
    "bartlett": lambda x, half: 1 - abs(x),
    "lanczos": lambda x, half: np.sinc(x),
    "triang": _triangle,
    "parzen": _parzen,
    "bohman": _bohman,
    "barthann": _barthann,
    "cosine": _cosine,
    "exponential": _exponential,
    "tukey": _tukey,
    "taylor": _taylor,
    "kaiser": _kaiser,
    "gaussian": _gaussian,
    "general_cosine": _cosines,
    "general_gaussian": _general_gaussian,
    "general_hamming": _general_hamming,
    "chebwin": _chebyshev,
}

_ALIASES = {
    alias: name
    for name, aliases in {
        "barthann": "brthan bth",
        "bartlett": "bart brt",
        "blackman": "black blk",
        "blackmanharris": "blackharr bkh",
        "bohman": "bman bmn",
        "boxcar": "box ones rect rectangular",
        "chebwin": "cheb",
        "cosine": "halfcosine",
        "exponential": "poisson",
        "flattop": "flat flt",
        "gaussian": "gauss gss",
        "general_gaussian": "general_gauss ggs",
        "hamming": "hamm ham",
        "hann": "han",
        "kaiser": "ksr",
        "lanczos": "sinc",
        "nuttall": "nutl nut",
        "parzen": "parz par",
        "taylor": "taylorwin",
        "triang": "triangle tri",
        "tukey": "tuk",
    }.items()
    for alias in aliases.split()
}
