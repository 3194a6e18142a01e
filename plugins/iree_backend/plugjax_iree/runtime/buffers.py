"""Properties that NumPy arrays share with device buffers: dtypes, alignment, layout."""

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from plugjax_iree import native

ALIGNMENT = 64
"""Bytes. Compiled code assumes that every buffer is aligned to them; one that is not is a segfault."""

_ELEMENT_TYPE_NAMES = {
    np.bool_: "BOOL_8",
    np.int8: "SINT_8",
    np.int16: "SINT_16",
    np.int32: "SINT_32",
    np.int64: "SINT_64",
    np.uint8: "UINT_8",
    np.uint16: "UINT_16",
    np.uint32: "UINT_32",
    np.uint64: "UINT_64",
    np.float16: "FLOAT_16",
    np.float32: "FLOAT_32",
    np.float64: "FLOAT_64",
    np.complex64: "COMPLEX_64",
    np.complex128: "COMPLEX_128",
    ml_dtypes.bfloat16: "BFLOAT_16",
    ml_dtypes.float8_e4m3fn: "FLOAT_8_E4M3_FN",
    ml_dtypes.float8_e4m3fnuz: "FLOAT_8_E4M3_FNUZ",
    ml_dtypes.float8_e5m2: "FLOAT_8_E5M2",
    ml_dtypes.float8_e5m2fnuz: "FLOAT_8_E5M2_FNUZ",
}

DTYPES = frozenset(np.dtype(scalar) for scalar in _ELEMENT_TYPE_NAMES)
"""The dtypes that buffers can have."""


def is_opaque(dtype: np.dtype[Any]) -> bool:
    """Whether numbers of a dtype take a byte each, and buffers can have them as bytes only: integers and floats of less than 8 bits."""
    return dtype.kind == "V" and dtype.itemsize == 1 and dtype not in DTYPES


@cache
def element_types() -> dict[np.dtype[Any], Any]:
    """The runtime's element type of every dtype that buffers can have."""
    known = native.runtime().HalElementType
    return {np.dtype(scalar): getattr(known, name) for scalar, name in _ELEMENT_TYPE_NAMES.items()}


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An uninitialised array that `RuntimeDevice.put` can take over without a copy."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)


def can_be_taken_over(array: np.ndarray) -> bool:
    """Whether a buffer can use the memory of `array`."""
    return (
        array.flags.c_contiguous
        and array.flags.writeable
        and array.nbytes > 0
        and array.__array_interface__["data"][0] % ALIGNMENT == 0
    )


def in_native_order(array: np.ndarray) -> np.ndarray:
    """An array with its bytes in native order.

    Raises:
        TypeError: a dtype that buffers cannot have in native order either.
    """
    dtype = array.dtype.newbyteorder("=")
    if dtype not in element_types():
        raise TypeError(
            f"RuntimeDevice.put: IREE has no buffers of dtype {array.dtype.name}. "
            "Convert it to another dtype before."
        )
    return array.astype(dtype)
