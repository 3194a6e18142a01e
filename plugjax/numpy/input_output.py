"""Reading, writing and printing arrays."""

from __future__ import annotations

from typing import Any, NoReturn

import ml_dtypes
import numpy as np
from numpy import (
    array_repr,
    array_str,
    get_printoptions,
    iterable,
    printoptions,
    save,
    savez,
    set_printoptions,
)

from plugjax.extend.core import Array
from plugjax.extend.dtypes import DTypeLike
from plugjax.numpy.creation import asarray

__all__ = [
    "array_repr", "array_str", "fromfile", "fromiter", "fromstring", "get_printoptions", "iterable", "load", "printoptions", "save",
    "savez", "set_printoptions",
]  # fmt: skip

_IMPURE = (
    "{0}: what it reads is gone afterwards, so a traced function would not read again. Call np.{0} outside, "
    "then jnp.asarray."
)


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """Read a file of ``numpy.save`` or ``savez``: an array, or NumPy's archive of several.

    Args:
        file: a path, or a file opened for reading bytes.
        *args: as of ``numpy.load``.
        **kwargs: as of ``numpy.load``.
    """
    found = np.load(file, *args, **kwargs)
    if not isinstance(found, np.ndarray):
        return found
    if found.dtype == "V2":
        # NumPy stores bfloat16 as unnamed bytes.
        found = found.view(ml_dtypes.bfloat16)
    try:
        return asarray(found)
    except TypeError:
        return found


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """A vector from numbers in text.

    Args:
        string: the text.
        dtype: dtype of the numbers.
        count: number of values; all by default.
        sep: separator.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fromstring("1 2", int, sep=" ")
        Array([1, 2], dtype=int32)
    """
    wanted: Any = np.dtype(dtype)  # type: ignore[arg-type]  # NumPy's stubs name each string
    return asarray(np.fromstring(string, dtype=wanted, count=count, sep=sep))


def fromfile(*args: Any, **kwargs: Any) -> NoReturn:
    """Not available, as in JAX: reading a file changes its state.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(_IMPURE.format("fromfile"))


def fromiter(*args: Any, **kwargs: Any) -> NoReturn:
    """Not available, as in JAX: an iterator is consumed.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(_IMPURE.format("fromiter"))
