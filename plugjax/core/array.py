"""The array: an aval, a placement, and a value held as host memory, as a backend's buffer, or as both.

On a device whose memory the host sees, an array keeps what a host kernel gave until compiled code asks for a buffer, and
keeps a buffer until a host kernel asks for memory. Values are immutable; NumPy views of them are read-only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax.core import dtypes
from plugjax.core.aval import (
    AbstractReference,
    AbstractValue,
    ShapedArray,
    aval_of_value,
    physical_aval,
)
from plugjax.core.backend import default_device
from plugjax.core.config import config
from plugjax.core.device import Device, Placement, Sharding
from plugjax.core.eager_operators import EagerOperators
from plugjax.core.errors import NotArrayError, UnexpectedTracerError
from plugjax.core.operators import methods
from plugjax.core.primitive import Tracer


class _ArrayType(type):
    """Makes ``isinstance(tracer, Array)`` true, as JAX does: user code asks "is it an array?"."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type(instance) is cls or (
            isinstance(instance, Tracer) and not isinstance(instance.aval, AbstractReference)
        )


class Array(EagerOperators, metaclass=_ArrayType):
    """An array on a device. Made by ``plugjax.numpy`` functions, never called directly.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.arange(3) * 2
        Array([0, 2, 4], dtype=int32)
    """

    __slots__ = ("_buffer", "_host", "_placement", "aval")

    aval: ShapedArray

    def __init__(
        self, aval: ShapedArray, placement: Placement, host: Any, buffer: Any = None
    ) -> None:
        self.aval = aval
        self._placement = placement
        self._host = host
        self._buffer = buffer

    def _fetch(self) -> Any:
        """The host value; fetched from the buffer if need be, and kept where the host sees the memory."""
        host = self._host
        if host is None:
            buffer = self._buffer
            if buffer is None:
                raise self._deleted()
            placement = self._placement
            host = placement.backend.get(buffer, physical_aval(self.aval), placement.device)
            if placement.host_visible:
                self._host = host
            elif transfers:
                transfers["device-to-host"](self)
        return host

    def _alias(self) -> Array:
        """The same values as another object."""
        return Array(self.aval, self._placement, self._host, self._buffer)

    def _deleted(self) -> RuntimeError:
        return RuntimeError(
            f"Array has been deleted: {self.aval.str_short()} was donated to a compiled function, or .delete() was called."
        )

    def _resident(self) -> Any:
        """The backend's buffer; put there if need be."""
        buffer = self._buffer
        if buffer is None:
            placement = self._placement
            buffer = self._buffer = placement.backend.put(
                np.asarray(self._fetch()), placement.device
            )
        return buffer

    @property
    def device(self) -> Device:
        """The device that holds the array; the sharding, if there are several."""
        return self._placement.device  # type: ignore[no-any-return]  # as it says

    @property
    def sharding(self) -> Sharding:
        """How the array is spread over devices."""
        return self._placement.sharding

    @property
    def committed(self) -> bool:
        """Whether the user chose the device; operands that are not committed follow those that are."""
        return self._placement.committed

    _committed = committed

    @property
    def format(self) -> Any:
        """How the array lies in memory, and where."""
        return methods.format(self)

    def devices(self) -> set[Device]:
        """The devices that hold the array."""
        return set(self._placement.sharding.devices)

    def to_device(self, device: Any, *, stream: Any = None) -> Array:
        """The array on another device (array API)."""
        if stream is not None:
            raise NotImplementedError("to_device: there are no streams; leave stream out.")
        moved: Array = methods.device_put(self, device)
        return moved

    def block_until_ready(self) -> Array:
        """Wait until the values are there; returns the array."""
        if self._buffer is not None:
            self._placement.backend.block_until_ready(self._buffer)
        elif self._host is None:
            raise self._deleted()
        return self

    def delete(self) -> None:
        """Give up the memory. Using the array afterwards raises ``RuntimeError``."""
        buffer, self._buffer, self._host = self._buffer, None, None
        if buffer is not None:
            self._placement.backend.delete(buffer)

    def is_ready(self) -> bool:
        """Whether the values are there."""
        if self.is_deleted():
            raise self._deleted()
        return self._host is not None or self._placement.backend.is_ready(self._buffer)

    def is_deleted(self) -> bool:
        """Whether the memory was given up or donated."""
        return self._host is None and self._buffer is None

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process holds all of the array."""
        return bool(self._placement.sharding.is_fully_addressable)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds all of the array."""
        return self._placement.sharding.is_fully_replicated

    @property
    def addressable_shards(self) -> list[Any]:
        """The part on each device of this process, with its device and index."""
        return list(methods.addressable_shards(self))

    @property
    def global_shards(self) -> list[Any]:
        """The part on each device; those of other processes have no data."""
        return list(methods.global_shards(self))

    def addressable_data(self, index: int) -> Array:
        """The part on the ``index``-th device of this process."""
        return self.addressable_shards[index].data  # type: ignore[no-any-return]  # an array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        host = self._fetch() if self._host is None else self._host
        if isinstance(self.aval.dtype, dtypes.ExtendedDType):
            raise TypeError(
                f"JAX array with extended dtype {self.aval.dtype} cannot be converted to NumPy; use key_data."
            )
        if dtype is not None and np.dtype(dtype) != self.aval.dtype:
            if copy is False:
                raise ValueError(f"converting {self.aval.dtype} to {dtype} needs a copy")
            return np.asarray(host).astype(dtype)
        if copy:
            return np.array(host)
        view = np.asarray(host).view()
        view.flags.writeable = False
        return view

    def item(self, *index: int) -> Any:
        """One element as a Python scalar."""
        host = self._host
        return (host if host is not None else self._fetch()).item(*index)

    def tolist(self) -> Any:
        """The values as nested lists of Python scalars."""
        return self._fetch().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The values as bytes."""
        return np.asarray(self).tobytes(order)

    def _scalar(self, kind: str) -> Any:
        if self.aval.shape:
            raise TypeError(
                f"{kind}(): Only scalar arrays can be converted, got {self.aval.str_short()}. Index it, or use .item() or .tolist()."
            )
        try:
            return self._fetch().item()
        except ValueError:
            self._refuse_keys(kind)
            raise

    def _refuse_keys(self, kind: str) -> None:
        # Asked late: numbers, which are converted often, do not pay for it.
        if dtypes.is_extended(self.aval.dtype):
            raise TypeError(f"{kind}() of {self.aval.str_short()}: a key is no number.") from None

    def __bool__(self) -> bool:
        if self._host is not None and not self.aval.shape:
            try:
                return bool(self._host)
            except ValueError:
                self._refuse_keys("bool")
                raise
        self._refuse_keys("bool")
        if self.aval.size != 1:
            raise ValueError(
                f"The truth value of an array is ambiguous unless it has one element; got {self.aval.str_short()}. Ask for a.any() or a.all()."
            )
        return bool(self._fetch().item())

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self.aval.shape or not dtypes.is_integer(self.aval.dtype):
            raise TypeError(
                f"an array used as an index needs an integer dtype and no axes, got {self.aval.str_short()}."
            )
        return int(self._fetch())

    def __format__(self, spec: str) -> str:
        if isinstance(self.aval.dtype, dtypes.ExtendedDType):
            return format(repr(self), spec)
        return format(np.asarray(self._fetch())[()], spec)  # a scalar is formatted as one

    def __repr__(self) -> str:
        if self.is_deleted():
            return f"Array(deleted, {self.aval.str_short()})"
        value, dtype = np.asarray(self._fetch()), self.aval.dtype
        if isinstance(dtype, dtypes.ExtendedDType):
            return f"Array({self.aval.shape}, dtype={dtype.name}) overlaying:\n{value}"
        tail = f"dtype={dtype.name}{', weak_type=True' if self.aval.weak_type else ''})"
        body = np.array2string(value, separator=", ", prefix="Array(", suffix=",")
        if value.size == 0:
            body = f"[], shape={value.shape}"
        # As in JAX, a long last line is not broken.
        last = len(body) - body.rfind("\n") + len(tail) + 2
        gap = " " if last <= np.get_printoptions()["linewidth"] else " " * 6
        return f"Array({body},{gap}{tail}"

    def __str__(self) -> str:
        if isinstance(self.aval.dtype, dtypes.ExtendedDType):
            return repr(self)
        return str(np.asarray(self._fetch()))

    def __dlpack__(self, **kwargs: Any) -> Any:
        return methods.dlpack(np.asarray(self._fetch()), **kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def __buffer__(self, flags: int) -> memoryview:  # asked by Python 3.12 and later
        return memoryview(self.__array__())  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (np.asarray(self._fetch()), self.aval.update(spread=None))

    def __copy__(self) -> Array:
        return self

    def __deepcopy__(self, memo: Any) -> Array:
        return Array(self.aval, self._placement, np.array(self._fetch()))


def _rebuild(stored: np.ndarray[Any, Any], aval: ShapedArray) -> Array:
    return Array(aval, default_placement(), stored)


def default_placement() -> Placement:
    """Where uncommitted arrays are made."""
    return default_device().uncommitted


def from_host(value: Any, *, weak_type: bool = False, placement: Placement | None = None) -> Array:
    """An array over a NumPy value, which must not be written to again; the dtype is not changed."""
    aval = aval_of_value(value.shape, value.dtype)
    if weak_type:
        aval = ShapedArray(aval.shape, aval.dtype, True)
    return Array(aval, placement or default_placement(), value)


_PYTHON_SCALARS: Any = (bool, int, float, complex)
# What looks at values on their way, by direction; empty unless an option observes "transfers".
transfers: dict[str, Callable[..., None]] = {}
# Classes of values that are no arrays, and what gives their types: a plugin may add its own.
value_types: dict[type, Callable[[Any], AbstractValue]] = {}


def as_array(value: Any, who: str = "plugjax") -> Any:
    """An Array (or tracer) from what users pass for one: Python and NumPy scalars, NumPy arrays, ``__jax_array__``.

    Raises:
        TypeError: ``value`` is not array-like.
        ValueError: it is a masked array.
        OverflowError: a Python integer does not fit its dtype.
    """
    kind = type(value)
    if kind is Array or isinstance(value, Tracer) or kind in value_types:
        return value
    if transfers:
        transfers["host-to-device"](value, who)
    if kind in _PYTHON_SCALARS:
        return Array(scalar_aval(value), default_placement(), scalar_value(value))
    if isinstance(value, (np.ndarray, np.generic)):
        if kind is not np.ndarray and isinstance(value, np.ma.MaskedArray):
            raise ValueError(
                f"{who}: numpy masked arrays are not supported, as their mask would be lost. Pass x.filled(value)."
            )
        dtype = dtypes.canonicalize(value.dtype, who)
        return from_host(np.array(value, dtype, order="C"))  # a copy: the caller may write later
    convert = getattr(value, "__jax_array__", None)
    if convert is not None:
        return as_array(convert(), who)
    for scalar in _PYTHON_SCALARS:
        if isinstance(value, scalar):
            return as_array(scalar(value), who)
    raise NotArrayError(f"{who} needs an array or a number, got {value!r} of type {kind}.{conversion(value)}")  # fmt: skip


def conversion(value: Any) -> str:
    """What to do with an array of the real JAX; empty for other values."""
    real = type(value).__module__.startswith("jaxlib.")
    return " It is an array of JAX: convert it by plugjax.numpy.from_dlpack(x)." * real


def scalar_aval(value: Any) -> ShapedArray:
    """The aval of a Python scalar: rank 0, weak unless bool."""
    kind = type(value)
    found = _SCALAR_AVALS[config.enable_x64].get(kind)
    return found if found is not None else ShapedArray((), dtypes.scalar_dtype(value), True)


_SCALAR_AVALS: dict[bool, dict[type, ShapedArray]] = {
    x64: {bool: ShapedArray((), np.bool_), **{t: ShapedArray((), d, True) for t, d in zip((int, float, complex), wide, strict=True)}}
    for x64, wide in ((False, (np.int32, np.float32, np.complex64)), (True, (np.int64, np.float64, np.complex128)))
}  # fmt: skip


def scalar_value(value: Any) -> Any:
    """A Python scalar as a NumPy scalar of its aval's dtype.

    Raises:
        OverflowError: an integer that does not fit.
    """
    dtype = scalar_aval(value).dtype
    try:
        with np.errstate(over="ignore"):
            return dtype.type(value)
    except OverflowError:
        raise OverflowError(
            f"Python int {value} is too large to convert to {dtype}; set jax_enable_x64"
        ) from None


def aval_of(value: Any, who: str = "plugjax") -> ShapedArray:
    """The aval of an argument: an array, tracer, scalar, NumPy array, or a struct with shape and dtype."""
    kind = type(value)
    if kind in _PYTHON_SCALARS:
        return scalar_aval(value)
    if kind in value_types:
        return value_types[kind](value)  # type: ignore[return-value]  # what takes references asks for them
    aval = getattr(value, "aval", None)
    if isinstance(aval, AbstractValue):
        return aval  # type: ignore[return-value]  # likewise
    if isinstance(value, (np.ndarray, np.generic)):
        return aval_of_value(value.shape, dtypes.canonicalize(value.dtype, who))
    if isinstance(value, ShapedArray):
        return value
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        weak_type, sharding = (getattr(value, name, None) for name in ("weak_type", "sharding"))
        dtype = dtypes.canonicalize(value.dtype, who)
        struct = ShapedArray(tuple(value.shape), dtype, bool(weak_type))
        return sharding.typed(struct) if isinstance(sharding, Sharding) else struct
    array: Any = as_array(value, who)
    found: ShapedArray = array.aval
    return found


def concrete(value: Any) -> Array:
    """An Array, or the error that a tracer which has leaked deserves."""
    if isinstance(value, Tracer):
        raise UnexpectedTracerError(value)
    found: Array = as_array(value)
    return found


def constant(value: Any, placement: Placement) -> Array:
    """An operand that is no Array, at the placement of those that are."""
    if isinstance(value, np.generic) and dtypes.canonicalize(value.dtype) is value.dtype:
        return Array(aval_of_value((), value.dtype), placement, value)
    return transfer(concrete(value), placement)


def transfer(array: Array, placement: Placement) -> Array:
    """The array at another placement: memory is shared where both backends see host memory."""
    if array._placement is placement:
        return array
    if array._placement.device is placement.device:
        return Array(placement.sharding.typed(array.aval), placement, array._host, array._buffer)
    if transfers:
        transfers["device-to-device"](array, placement)
    return Array(placement.sharding.typed(array.aval), placement, array._fetch())


def on_device(array: Array, placement: Placement) -> Array:
    """The array, at another placement only if that is on another device: whether it is committed is no matter to a program."""
    same = array._placement.device is placement.device
    return array if same else transfer(array, placement)
