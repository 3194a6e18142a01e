"""Dtypes by name, their limits, and how they promote."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import Array, ShapeDtypeStruct, aval_of
from plugjax.extend.dtypes import DType, DTypeLike
from plugjax.extend.errors import NotArrayError
from plugjax.lax.promotion import content, promote, promote_wide
from plugjax.numpy.creation import asarray
from plugjax.numpy.promotion import limits

__all__ = [
    "ComplexWarning",
    "ScalarType",
    "bfloat16",
    "bool_",
    "can_cast",
    "cdouble",
    "character",
    "complex64",
    "complex128",
    "complex_",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "finfo",
    "flexible",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "float_",
    "floating",
    "generic",
    "iinfo",
    "inexact",
    "int1",
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "integer",
    "iscomplexobj",
    "isdtype",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "ndarray",
    "number",
    "object_",
    "promote_types",
    "result_type",
    "signedinteger",
    "single",
    "uint",
    "uint1",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unsignedinteger",
]  # fmt: skip

ndarray = Array
dtype = np.dtype
generic, number, inexact = np.generic, np.number, np.inexact
integer, signedinteger, unsignedinteger = np.integer, np.signedinteger, np.unsignedinteger
floating, complexfloating = np.floating, np.complexfloating
flexible, character, object_ = np.flexible, np.character, np.object_
ComplexWarning = np.exceptions.ComplexWarning


class ScalarType(type):
    """The type of ``jnp.float32`` and its like: names of dtypes that also make arrays of them.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.float32(3)
        Array(3., dtype=float32)
        >>> jnp.zeros(2).dtype == jnp.float32
        True
    """

    dtype: DType

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> bool:
        return (
            cls is other
            or cls.dtype.type == other
            or (isinstance(other, ScalarType) and other.dtype == cls.dtype)
        )

    def __ne__(cls, other: object) -> bool:
        return not cls == other

    def __call__(cls, x: Any) -> Array:
        """``x`` as an array of the dtype."""
        return asarray(x, cls.dtype)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.dtype.type)

    def __repr__(cls) -> str:
        return f"<class 'plugjax.numpy.{cls.__name__}'>"


def _scalar_type(name: str, scalar: Any) -> Any:
    return ScalarType(
        name, (object,), {"dtype": np.dtype(scalar), "__doc__": f"The dtype ``{name}``."}
    )


bool_ = _scalar_type("bool_", np.bool_)
int1 = _scalar_type("int1", ml_dtypes.int1)
int2 = _scalar_type("int2", ml_dtypes.int2)
int4 = _scalar_type("int4", ml_dtypes.int4)
int8 = _scalar_type("int8", np.int8)
int16 = _scalar_type("int16", np.int16)
int32 = _scalar_type("int32", np.int32)
int64 = _scalar_type("int64", np.int64)
uint1 = _scalar_type("uint1", ml_dtypes.uint1)
uint2 = _scalar_type("uint2", ml_dtypes.uint2)
uint4 = _scalar_type("uint4", ml_dtypes.uint4)
uint8 = _scalar_type("uint8", np.uint8)
uint16 = _scalar_type("uint16", np.uint16)
uint32 = _scalar_type("uint32", np.uint32)
uint64 = _scalar_type("uint64", np.uint64)
float4_e2m1fn = _scalar_type("float4_e2m1fn", ml_dtypes.float4_e2m1fn)
float6_e2m3fn = _scalar_type("float6_e2m3fn", ml_dtypes.float6_e2m3fn)
float6_e3m2fn = _scalar_type("float6_e3m2fn", ml_dtypes.float6_e3m2fn)
float8_e3m4 = _scalar_type("float8_e3m4", ml_dtypes.float8_e3m4)
float8_e4m3 = _scalar_type("float8_e4m3", ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _scalar_type("float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type("float8_e5m2", ml_dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu = _scalar_type("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu)
float16 = _scalar_type("float16", np.float16)
bfloat16 = _scalar_type("bfloat16", ml_dtypes.bfloat16)
float32 = single = _scalar_type("float32", np.float32)
float64 = double = _scalar_type("float64", np.float64)
complex64 = csingle = _scalar_type("complex64", np.complex64)
complex128 = cdouble = _scalar_type("complex128", np.complex128)
int_, uint, float_, complex_ = int64, uint64, float64, complex128


def _as_dtype(value: Any) -> DType:
    found = getattr(value, "dtype", None)
    if isinstance(found, (np.dtype, dtypes.ExtendedDType)):
        return found  # type: ignore[return-value]  # extended dtypes stand beside NumPy's
    return value if isinstance(value, dtypes.ExtendedDType) else np.dtype(value)  # type: ignore[return-value]


def finfo(dtype: DTypeLike) -> Any:
    """Limits of a floating dtype: ``eps``, ``max``, ``tiny``, ``bits`` ...

    Example:
        >>> import plugjax.numpy as jnp
        >>> float(jnp.finfo(jnp.float16).max)
        65504.0
    """
    return limits(_as_dtype(dtype))


def iinfo(int_type: DTypeLike) -> Any:
    """Limits of an integer dtype: ``min``, ``max``, ``bits``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.iinfo("int8").max
        127
    """
    return ml_dtypes.iinfo(_as_dtype(int_type))


_PYTHON = (bool, int, float, complex)


def _pair(value: Any) -> tuple[DType, bool]:
    if value is None:
        return dtypes.canonicalize(float), False
    if any(value is kind for kind in _PYTHON):
        return dtypes.canonicalize(np.dtype(value)), value is not bool
    if isinstance(value, (type, str, np.dtype, dtypes.ExtendedDType, ScalarType)):
        return dtypes.canonicalize(_as_dtype(value)), False
    aval = aval_of(content(value), "result_type")
    return aval.dtype, aval.weak_type


def result_type(*args: Any) -> Any:
    """The dtype that arrays, scalars and dtypes promote to.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.result_type(jnp.int32, 1.0)
        dtype('float32')
    """
    return promotion(*args)[0]


def promotion(*args: Any) -> tuple[DType, bool]:
    """The dtype that arrays, scalars and dtypes promote to, and whether it is weak."""
    if not args:
        raise ValueError("result_type needs something to promote: arrays, scalars or dtypes.")
    found, weak = promote([_pair(a) for a in args])
    return dtypes.canonicalize(found), weak


def promote_types(a: DTypeLike, b: DTypeLike) -> DType:
    """The dtype that two dtypes promote to; 64-bit dtypes stay, even if arrays cannot have them.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.promote_types("int32", "float16")
        dtype('float16')
    """

    def wide(value: Any) -> tuple[DType, bool]:
        weak = any(value is kind for kind in _PYTHON[1:])
        return (np.dtype(value) if weak else _as_dtype(value)), weak

    return promote_wide([wide(a), wide(b)])


_KINDS: dict[type, Any] = {
    np.floating: dtypes.is_float,
    np.inexact: dtypes.is_inexact,
    np.number: lambda d: dtypes.is_inexact(d) or dtypes.is_integer(d),
    np.integer: dtypes.is_integer,
    np.signedinteger: lambda d: d.kind == "i" or d in dtypes.SIGNED_SMALL,
    np.unsignedinteger: lambda d: d.kind == "u" or d in dtypes.UNSIGNED_SMALL,
    np.generic: lambda d: True,
}


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Whether one dtype, or kind of dtypes, belongs to another.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.issubdtype(jnp.bfloat16, jnp.floating)
        True
    """
    sizes = getattr(arg2, "shape", None)
    if isinstance(sizes, tuple) and sizes and not isinstance(arg2, (np.dtype, ShapeDtypeStruct)):
        raise NotArrayError(
            f"issubdtype: a dtype or a kind of dtypes is needed, got an array of shape {sizes}. Pass its dtype."
        )
    contains = getattr(arg2, "contains_dtype", None)
    if contains is not None:
        return bool(contains(getattr(arg1, "dtype", arg1)))
    if isinstance(arg1, type) and issubclass(arg1, np.generic) and arg1 in _KINDS:
        return isinstance(arg2, type) and issubclass(arg2, np.generic) and issubclass(arg1, arg2)
    first = _as_dtype(arg1)
    if isinstance(first, dtypes.ExtendedDType):
        return first is arg2 or arg2 is np.generic
    test = _KINDS.get(arg2) if isinstance(arg2, type) and not isinstance(arg2, ScalarType) else None
    if test is not None:
        return bool(test(first))
    if isinstance(arg2, type) and not isinstance(arg2, ScalarType) and issubclass(arg2, np.generic):
        return bool(np.issubdtype(first, arg2))
    return first == _as_dtype(arg2)


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Whether a dtype is of a kind: a dtype, a name such as ``"real floating"``, or a tuple of them (array API).

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.isdtype(jnp.dtype("int8"), "signed integer")
        True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    found = _as_dtype(dtype)
    if isinstance(kind, str) and kind in _NAMED_KINDS:
        return bool(_NAMED_KINDS[kind](found))
    try:
        return found == _as_dtype(kind)
    except TypeError:
        if not isinstance(kind, str):
            raise
        raise ValueError(
            f"isdtype: {kind!r} is no kind, of {', '.join(_NAMED_KINDS)}, and no dtype."
        ) from None


_NAMED_KINDS: dict[str, Any] = {
    "bool": lambda d: d.kind == "b",
    "signed integer": _KINDS[np.signedinteger],
    "unsigned integer": _KINDS[np.unsignedinteger],
    "integral": dtypes.is_integer,
    "real floating": dtypes.is_float,
    "complex floating": lambda d: d.kind == "c",
    "numeric": _KINDS[np.number],
}


def can_cast(from_: DTypeLike, to: DTypeLike, casting: str = "safe") -> bool:
    """Whether a cast is allowed under a casting rule of NumPy's.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.can_cast("int32", "float64")
        True
    """
    return bool(np.can_cast(_as_dtype(from_), _as_dtype(to), casting))  # type: ignore[arg-type]


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of an array or scalar is complex.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.iscomplexobj(jnp.array([1j]))
        True
    """
    found = getattr(x, "dtype", None)
    if found is not None:
        return found.kind == "c"
    if x is None or isinstance(x, (str, int, float)):
        return False
    return dtypes.canonicalize(np.asarray(x).dtype, "iscomplexobj").kind == "c"


def isrealobj(x: Any) -> bool:
    """Whether the dtype of an array or scalar is not complex.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.isrealobj(jnp.array([1j]))
        False
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether a Python or NumPy scalar, or an array without axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.isscalar(1.0)
        True
    """
    return bool(np.isscalar(element)) or getattr(element, "shape", None) == ()
