"""Dtypes: the names of ``jax.dtypes``."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.core import dtypes as core
from plugjax.core.dtypes import DType, DTypeLike, bfloat16 as _bfloat16, float0 as float0
from plugjax.core.errors import TypePromotionError
from plugjax.extend.transforms import show_only
from plugjax.numpy.dtypes_info import finfo, iinfo, issubdtype as _issubdtype, promotion
from plugjax.random.keys import extended, prng_key

bfloat16 = _bfloat16.type


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that arrays of ``dtype`` have: of 32 bits instead of 64 unless x64 is enabled.

    Raises:
        ValueError: an extended dtype, unless they are allowed.

    Example:
        >>> from plugjax import dtypes
        >>> dtypes.canonicalize_dtype("float64")
        dtype('float32')
    """
    if core.is_extended(dtype) and not allow_extended_dtype:
        raise ValueError(
            f"canonicalize_dtype refuses the extended dtype {dtype}. Pass allow_extended_dtype=True."
        )
    return dtype if core.is_extended(dtype) else core.narrowed(core.as_numpy_dtype(dtype))


def issubdtype(a: Any, b: Any) -> bool:
    """Whether one dtype, or kind of dtypes, belongs to another.

    Example:
        >>> from plugjax import dtypes
        >>> import plugjax.numpy as jnp
        >>> dtypes.issubdtype("int8", jnp.signedinteger)
        True
    """
    return _issubdtype(a, b)


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype that arrays, scalars and dtypes promote to; with the flag, also whether it is weak.

    Example:
        >>> from plugjax import dtypes
        >>> dtypes.result_type(1, 2.0, return_weak_type_flag=True)
        (dtype('float32'), True)
    """
    found, weak = promotion(*args)
    return (found, weak) if return_weak_type_flag else found


def itemsize_bits(dtype: DTypeLike | None) -> int:
    """Bits of one element; those of dtypes below a byte are counted.

    Raises:
        ValueError: the dtype has no fixed number of bits.

    Example:
        >>> import plugjax.numpy as jnp
        >>> itemsize_bits(jnp.int4), itemsize_bits(jnp.complex64)
        (4, 64)
    """
    if dtype is None:
        raise ValueError("dtype cannot be None.")
    found = core.canonicalize(dtype) if core.is_extended(dtype) else np.dtype(dtype)  # type: ignore[arg-type]  # NumPy's stubs name each string
    if found == core.BOOL:
        return 8
    if core.is_integer(found):
        return int(iinfo(found).bits)
    if core.is_float(found):
        return int(finfo(found).bits)
    if found.kind == "c":
        return 2 * int(finfo(found).bits)
    raise ValueError(f"unexpected input: {dtype=}")


def scalar_type_of(x: Any) -> type:
    """The Python type of one element of an array: bool, int, float or complex.

    Raises:
        TypeError: an element is not a number.

    Example:
        >>> from plugjax import dtypes
        >>> dtypes.scalar_type_of(1.5)
        <class 'float'>
    """
    if x is None:
        raise ValueError("scalar_type_of: None has no dtype.")
    if isinstance(x, (bool, int, float, complex)):
        return next(t for t in (bool, int, float, complex) if isinstance(x, t))
    dtype: DType = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    if dtype == core.BOOL:
        return bool
    if core.is_integer(dtype):
        return int
    if core.is_float(dtype):
        core.canonicalize(dtype, "scalar_type_of")
        return float
    if dtype.kind == "c":
        return complex
    raise TypeError(f"Invalid scalar value {x}")


__all__ = [
    "TypePromotionError", "bfloat16", "canonicalize_dtype", "extended", "finfo", "float0", "iinfo", "issubdtype",
    "itemsize_bits", "prng_key", "result_type", "scalar_type_of",
]  # fmt: skip

show_only(globals(), __all__)
