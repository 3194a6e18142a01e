"""Dtypes: those that arrays have, their families, and which of them a value gets.

Promotion, the common dtype of several operands, is in :mod:`plugjax.lax.promotion`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from plugjax.core.config import config
from plugjax.core.errors import ForeignDtypeError, KeyDtypeError

DType: TypeAlias = np.dtype[Any]

bfloat16 = np.dtype(ml_dtypes.bfloat16)
float0 = np.dtype([("float0", np.void, 0)])

FLOAT8_NAMES = (
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
)  # fmt: skip
FLOAT8 = tuple(np.dtype(getattr(ml_dtypes, name)) for name in FLOAT8_NAMES)
UNSIGNED_FLOAT8 = np.dtype(ml_dtypes.float8_e8m0fnu)
FLOAT4 = (np.dtype(ml_dtypes.float4_e2m1fn),)
SIGNED_SMALL = (np.dtype(ml_dtypes.int2), np.dtype(ml_dtypes.int4))
UNSIGNED_SMALL = (np.dtype(ml_dtypes.uint2), np.dtype(ml_dtypes.uint4))
CUSTOM_FLOATS = frozenset((bfloat16, *FLOAT8, *FLOAT4))

BOOL: DType = np.dtype(np.bool_)
INT32: DType = np.dtype(np.int32)
INT64: DType = np.dtype(np.int64)
FLOAT32: DType = np.dtype(np.float32)
FLOAT64: DType = np.dtype(np.float64)
COMPLEX64: DType = np.dtype(np.complex64)
COMPLEX128: DType = np.dtype(np.complex128)

_INTERNED: dict[Any, Any] = {
    dtype: dtype
    for dtype in (
        *map(np.dtype, (
            "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
            "float16", "float32", "float64", "complex64", "complex128",
        )),
        *CUSTOM_FLOATS, *SIGNED_SMALL, *UNSIGNED_SMALL, float0,
    )
}  # fmt: skip

_NARROW: dict[DType, DType] = {
    INT64: INT32, np.dtype(np.uint64): np.dtype(np.uint32), FLOAT64: FLOAT32, COMPLEX128: COMPLEX64,
}  # fmt: skip


class ExtendedDType:
    """A dtype that exists only in avals, and is stored as an array of a plain dtype with extra trailing axes.

    Random keys are the example: an array of keys ``[...]`` is stored as ``uint32[..., 2]``. Interpreters see the
    logical shape; the pass ``transforms.physical`` rewrites a program to the stored one before any backend sees it.
    """

    name: str
    storage_dtype: DType
    storage_shape: tuple[int, ...]
    kind = "V"
    itemsize = 0

    def filled(self, value: Any) -> Any:
        """A scalar that is stored as ``value`` throughout."""
        raise TypeError(f"no {self.name} can be made of a number.")

    def type(self, value: Any) -> Any:
        """As a NumPy dtype's ``type``, which makes scalars of numbers: there are none of this dtype."""
        raise KeyDtypeError(f"no {self.name} can be made of the number {value!r}.")


DTypeLike: TypeAlias = str | type[Any] | DType | ExtendedDType | None


def interned(dtype: Any) -> DType:
    """The one object that stands for all dtypes equal to ``dtype``; ``dtype`` itself if it is not among JAX's."""
    found: DType = _INTERNED.get(dtype, dtype)
    return found


def is_extended(dtype: Any) -> bool:
    """Whether ``dtype`` is an extended one."""
    return isinstance(dtype, ExtendedDType)


def canonicalize(dtype: DTypeLike, who: str = "dtype") -> DType:
    """The dtype that JAX would use: 64-bit types become 32-bit ones unless ``jax_enable_x64`` is set.

    Raises:
        TypeError: no dtype, or one that arrays do not have: strings, dates, records, numbers in the other byte order or of 128 bits.
        ValueError: an array was given in the place of its dtype.
    """
    if isinstance(dtype, ExtendedDType):
        return dtype  # type: ignore[return-value]  # extended dtypes stand beside NumPy's in avals
    found: DType | None
    if dtype is int:
        found = INT64
    elif dtype is float:
        found = FLOAT64
    elif dtype is complex:
        found = COMPLEX128
    else:
        found = _INTERNED.get(dtype if type(dtype) in _HASHED else as_numpy_dtype(dtype))
    if found is None:
        raise ForeignDtypeError(
            f"{who}: arrays hold numbers or bools in the machine's byte order, not dtype {dtype!r}. Convert the values with NumPy's astype."
        )
    return narrowed(found)


def has_arrays(dtype: DTypeLike) -> bool:
    """Whether a dtype that NumPy knows is one that arrays have.

    Raises:
        TypeError: NumPy does not know it.
    """
    return isinstance(dtype, ExtendedDType) or as_numpy_dtype(dtype) in _INTERNED


def narrow(dtype: DType) -> DType:
    """The dtype of 32 bits in the place of one of 64; any other as it is."""
    return _NARROW.get(dtype, dtype)


def narrowed(dtype: DType) -> DType:
    """``dtype``, of 32 bits instead of 64 unless ``jax_enable_x64`` is set."""
    return dtype if config.enable_x64 else narrow(dtype)


# Types of dtypes that the table can be asked about as they are.
_HASHED = frozenset(map(type, _INTERNED))


def as_numpy_dtype(dtype: Any) -> DType:
    """The NumPy dtype that ``dtype`` names: a dtype, a type of scalars, a name, or a scalar of NumPy.

    Raises:
        TypeError: it names none.
        ValueError: it is an array.
    """
    if getattr(dtype, "ndim", None) is not None and not isinstance(
        dtype, (np.dtype, np.generic, type)
    ):
        error = TypeError if isinstance(dtype, np.ndarray) else ValueError
        raise error(
            "an array came where a dtype was needed. Pass the array's dtype: dtype=x.dtype."
        )
    own = getattr(dtype, "dtype", None)
    resolved: DType = own if isinstance(own, np.dtype) else np.dtype(dtype)
    return resolved


def scalar_dtype(value: bool | int | float | complex) -> DType:
    """The dtype of a Python scalar: bool, or the default width of its kind."""
    kind = type(value)
    if kind is bool:
        return BOOL
    wide = config.enable_x64
    if isinstance(value, int):
        return INT64 if wide else INT32
    if isinstance(value, float):
        return FLOAT64 if wide else FLOAT32
    return COMPLEX128 if wide else COMPLEX64


# Python integers in this range fit the default integer dtype under every configuration.
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


def takes_wide_integers(dtype: DType) -> bool:
    """Whether ``dtype`` holds Python integers beyond 32 bits, so that converting one raises nothing."""
    return not (dtype.kind in "iu" and np.can_cast(dtype, INT32))


def is_float(dtype: DType) -> bool:
    """Whether ``dtype`` is a real floating one, the small ones included."""
    return dtype.kind == "f" or dtype in CUSTOM_FLOATS


def is_inexact(dtype: DType) -> bool:
    """Whether ``dtype`` is floating or complex."""
    return dtype.kind in "fc" or dtype in CUSTOM_FLOATS


def is_integer(dtype: DType) -> bool:
    """Whether ``dtype`` is a signed or unsigned integer, bool excluded."""
    return dtype.kind in "iu" or dtype in SIGNED_SMALL or dtype in UNSIGNED_SMALL


def kind_of(dtype: DType) -> str:
    """NumPy's letter for the kind of a dtype, ``b``, ``i``, ``u``, ``f`` or ``c``; small numbers have that of large ones."""
    return dtype.kind if dtype.kind != "V" else _KINDS_OF_SMALL.get(dtype, "V")


_KINDS_OF_SMALL = {
    **dict.fromkeys(SIGNED_SMALL, "i"),
    **dict.fromkeys(UNSIGNED_SMALL, "u"),
    **dict.fromkeys(CUSTOM_FLOATS, "f"),
}


@cache
def to_inexact(dtype: DType) -> DType:
    """The floating dtype that an operation such as ``sin`` computes in when it gets ``dtype``."""
    if is_inexact(dtype):
        return dtype
    return FLOAT64 if dtype in (INT64, np.dtype(np.uint64)) else FLOAT32


@cache
def tangent_dtype(dtype: DType) -> DType:
    """The dtype of tangents: ``dtype`` itself when inexact, else ``float0``; an extended one may have a ``tangent``."""
    if isinstance(dtype, ExtendedDType):
        return getattr(dtype, "tangent", float0)
    return dtype if is_inexact(dtype) else float0


_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


@cache
def short_name(dtype: DType) -> str:
    """Name as jaxprs print it: ``f32``, ``i32``, ``bool``, ``bf16`` ..."""
    name: str = dtype.name
    if dtype == float0:
        return "float0"
    if name.startswith(("float8", "float4")):
        return name.replace("float", "f")
    stem = name.rstrip("0123456789")
    return _SHORT[stem] + name[len(stem) :] if stem in _SHORT else name
