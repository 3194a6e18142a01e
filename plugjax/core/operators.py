"""Operators and methods of arrays and tracers.

A static mixin: every operator delegates to a function of the same meaning in :data:`methods`, a namespace that the hook
``plugjax_array_methods`` fills. So the core has ``x + y`` without knowing what addition is.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from plugjax.core import above
from plugjax.core.aval import Shape, ShapedArray
from plugjax.core.dtypes import DType, DTypeLike


class Methods:
    """Namespace of the functions behind operators and methods; filled on the first look-up after the plugins changed."""

    def __init__(self) -> None:
        self._source: Callable[[], dict[str, Callable[..., Any]]] | None = None

    def __getattr__(self, name: str) -> Any:
        source = self.__dict__.get("_source")
        if source is None or name.startswith("__"):
            raise AttributeError(name)
        self.fill()
        if name not in self.__dict__:
            raise AttributeError(
                f"no plugin provides the array method '{name}' (hook plugjax_array_methods)"
            )
        return self.__dict__[name]

    def fill(self) -> None:
        """Ask for the functions. Methods of arrays then have their signatures and their documentation."""
        self.__dict__.update(found := self._source() if self._source else {})
        for name in _METHODS.intersection(found):
            method, function = vars(ArrayOperators)[name], found[name]
            method.__wrapped__ = function
            method.__doc__ = f"{(function.__doc__ or name).strip()}\n\n    As ``plugjax.numpy.{name}``, with this array first."

    def refill(self, source: Callable[[], dict[str, Callable[..., Any]]]) -> None:
        """Drop all functions; ask ``source`` for them at the next look-up."""
        self._source = source
        self.clear()

    def clear(self) -> None:
        """Drop all functions; the next look-up asks for them again."""
        for name in [name for name in self.__dict__ if name != "_source"]:
            self.__dict__.pop(name, None)


methods = Methods()
_A = TypeVar("_A")
_CONTAINERS = (list, tuple, dict, set)


def _accepts(other: Any) -> bool:
    # Containers are not operands: `x + [1]` is an error in JAX, where NumPy would convert. Other objects may know the operator.
    return isinstance(other, _OPERANDS) or hasattr(other, "__jax_array__")


def _compares(other: Any) -> bool:
    # Subclasses, such as named tuples, may have an equality of their own. An answer from Python would be one bool.
    if type(other) in _CONTAINERS:
        raise TypeError(
            f"unsupported operand types for == or !=: an array and a {type(other).__name__}. "
            "Convert it with plugjax.numpy.asarray."
        )
    return _accepts(other)


class HasAval:
    """Shape and dtype of what an aval describes."""

    __slots__ = ()

    aval: ShapedArray

    @property
    def shape(self) -> Shape:
        """Sizes of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.aval.size


class ArrayOperators(HasAval):
    """Operators, methods and NumPy protocols that arrays and tracers share."""

    __slots__ = ("__weakref__",)
    __array_priority__ = 100

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.aval.size * self.aval.dtype.itemsize

    @property
    def weak_type(self) -> bool:
        """Whether the dtype gives way in promotion."""
        return self.aval.weak_type

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() needs an array with an axis, and a scalar has none.")
        return self.aval.shape[0]

    def __getitem__(self, index: Any) -> Self:
        return methods.getitem(self, index)

    def __iter__(self) -> Iterator[Self]:
        if not self.aval.shape:
            raise TypeError("iteration over a 0-d array: it has no axis.")
        return iter(methods.unstack(self))

    def __contains__(self, value: Any) -> bool:
        return bool(methods.contains(self, value))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            f"{type(self).__name__}: arrays are immutable and do not support assignment to items. "
            "Write x = x.at[idx].set(y), which gives a new array."
        )

    def __round__(self, ndigits: int | None = None) -> Self:
        return methods.round(self, ndigits or 0)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return methods.array_namespace(api_version)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return methods.array_ufunc(ufunc, method, *inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return methods.array_function(func, args, kwargs)

    __hash__ = None  # type: ignore[assignment]  # equality is elementwise

    # fmt: off
    def __add__(self, other: ArrayLike) -> Self:
        return methods.add(self, other) if _accepts(other) else NotImplemented
    def __radd__(self, other: ArrayLike) -> Self:
        return methods.add(other, self) if _accepts(other) else NotImplemented
    def __sub__(self, other: ArrayLike) -> Self:
        return methods.subtract(self, other) if _accepts(other) else NotImplemented
    def __rsub__(self, other: ArrayLike) -> Self:
        return methods.subtract(other, self) if _accepts(other) else NotImplemented
    def __mul__(self, other: ArrayLike) -> Self:
        return methods.multiply(self, other) if _accepts(other) else NotImplemented
    def __rmul__(self, other: ArrayLike) -> Self:
        return methods.multiply(other, self) if _accepts(other) else NotImplemented
    def __truediv__(self, other: ArrayLike) -> Self:
        return methods.true_divide(self, other) if _accepts(other) else NotImplemented
    def __rtruediv__(self, other: ArrayLike) -> Self:
        return methods.true_divide(other, self) if _accepts(other) else NotImplemented
    def __floordiv__(self, other: ArrayLike) -> Self:
        return methods.floor_divide(self, other) if _accepts(other) else NotImplemented
    def __rfloordiv__(self, other: ArrayLike) -> Self:
        return methods.floor_divide(other, self) if _accepts(other) else NotImplemented
    def __mod__(self, other: ArrayLike) -> Self:
        return methods.remainder(self, other) if _accepts(other) else NotImplemented
    def __rmod__(self, other: ArrayLike) -> Self:
        return methods.remainder(other, self) if _accepts(other) else NotImplemented
    def __divmod__(self, other: ArrayLike) -> tuple[Self, Self]:
        return methods.divmod(self, other) if _accepts(other) else NotImplemented
    def __rdivmod__(self, other: ArrayLike) -> tuple[Self, Self]:
        return methods.divmod(other, self) if _accepts(other) else NotImplemented
    def __pow__(self, other: ArrayLike) -> Self:
        return methods.power(self, other) if _accepts(other) else NotImplemented
    def __rpow__(self, other: ArrayLike) -> Self:
        return methods.power(other, self) if _accepts(other) else NotImplemented
    def __matmul__(self, other: ArrayLike) -> Self:
        return methods.matmul(self, other) if _accepts(other) else NotImplemented
    def __rmatmul__(self, other: ArrayLike) -> Self:
        return methods.matmul(other, self) if _accepts(other) else NotImplemented
    def __and__(self, other: ArrayLike) -> Self:
        return methods.bitwise_and(self, other) if _accepts(other) else NotImplemented
    def __rand__(self, other: ArrayLike) -> Self:
        return methods.bitwise_and(other, self) if _accepts(other) else NotImplemented
    def __or__(self, other: ArrayLike) -> Self:
        return methods.bitwise_or(self, other) if _accepts(other) else NotImplemented
    def __ror__(self, other: ArrayLike) -> Self:
        return methods.bitwise_or(other, self) if _accepts(other) else NotImplemented
    def __xor__(self, other: ArrayLike) -> Self:
        return methods.bitwise_xor(self, other) if _accepts(other) else NotImplemented
    def __rxor__(self, other: ArrayLike) -> Self:
        return methods.bitwise_xor(other, self) if _accepts(other) else NotImplemented
    def __lshift__(self, other: ArrayLike) -> Self:
        return methods.left_shift(self, other) if _accepts(other) else NotImplemented
    def __rlshift__(self, other: ArrayLike) -> Self:
        return methods.left_shift(other, self) if _accepts(other) else NotImplemented
    def __rshift__(self, other: ArrayLike) -> Self:
        return methods.right_shift(self, other) if _accepts(other) else NotImplemented
    def __rrshift__(self, other: ArrayLike) -> Self:
        return methods.right_shift(other, self) if _accepts(other) else NotImplemented
    def __eq__(self, other: ArrayLike) -> Self:  # type: ignore[override]  # elementwise
        return methods.equal(self, other) if _compares(other) else NotImplemented
    def __ne__(self, other: ArrayLike) -> Self:  # type: ignore[override]  # elementwise
        return methods.not_equal(self, other) if _compares(other) else NotImplemented
    def __lt__(self, other: ArrayLike) -> Self:
        return methods.less(self, other) if _accepts(other) else NotImplemented
    def __le__(self, other: ArrayLike) -> Self:
        return methods.less_equal(self, other) if _accepts(other) else NotImplemented
    def __gt__(self, other: ArrayLike) -> Self:
        return methods.greater(self, other) if _accepts(other) else NotImplemented
    def __ge__(self, other: ArrayLike) -> Self:
        return methods.greater_equal(self, other) if _accepts(other) else NotImplemented
    def __neg__(self) -> Self:
        return methods.negative(self)
    def __pos__(self) -> Self:
        return methods.positive(self)
    def __abs__(self) -> Self:
        return methods.abs(self)
    def __invert__(self) -> Self:
        return methods.bitwise_not(self)
    # fmt: on

    if TYPE_CHECKING:
        # Functions of plugins by name, with the array first (see `_method`).
        # fmt: off
        def all(
            self, axis: Axes = None, out: None = None, keepdims: bool = False, *, where: ArrayLike | None = None
        ) -> Self: ...
        def any(
            self, axis: Axes = None, out: None = None, keepdims: bool = False, *, where: ArrayLike | None = None
        ) -> Self: ...
        def argmax(self, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Self: ...
        def argmin(self, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Self: ...
        def argpartition(self, kth: int, axis: int = -1) -> Self: ...
        def argsort(
            self, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
            descending: bool = False, dtype: DTypeLike = None,
        ) -> Self: ...
        def astype(self, dtype: DTypeLike, /, *, copy: bool = False, device: Any = None) -> Self: ...
        def choose(self, choices: Sequence[ArrayLike], out: None = None, mode: str = "raise") -> Self: ...
        def clip(self, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Self: ...
        def compress(
            self, condition: ArrayLike, axis: int | None = None, *, out: None = None, size: int | None = None,
            fill_value: ArrayLike = 0,
        ) -> Self: ...
        def conj(self) -> Self: ...
        def conjugate(self) -> Self: ...
        def copy(self) -> Self: ...
        def cumprod(self, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Self: ...
        def cumsum(self, axis: int | None = None, dtype: DTypeLike = None, out: None = None) -> Self: ...
        def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self: ...
        def dot(
            self, b: ArrayLike, *, precision: Any = None, preferred_element_type: DTypeLike = None,
            out_sharding: Any = None,
        ) -> Self: ...
        def flatten(self, order: str = "C") -> Self: ...
        def max(
            self, axis: Axes = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
            where: ArrayLike | None = None,
        ) -> Self: ...
        def min(
            self, axis: Axes = None, out: None = None, keepdims: bool = False, initial: ArrayLike | None = None,
            where: ArrayLike | None = None,
        ) -> Self: ...
        def mean(
            self, axis: Axes = None, dtype: DTypeLike = None, out: None = None, keepdims: bool = False, *,
            where: ArrayLike | None = None,
        ) -> Self: ...
        def nonzero(
            self, *, size: int | None = None, fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None
        ) -> tuple[Self, ...]: ...
        def prod(
            self, axis: Axes = None, dtype: DTypeLike = None, out: None = None, keepdims: bool = False,
            initial: ArrayLike | None = None, where: ArrayLike | None = None, promote_integers: bool = True,
        ) -> Self: ...
        def sum(
            self, axis: Axes = None, dtype: DTypeLike = None, out: None = None, keepdims: bool = False,
            initial: ArrayLike | None = None, where: ArrayLike | None = None, promote_integers: bool = True,
        ) -> Self: ...
        def ptp(self, axis: Axes = None, out: None = None, keepdims: bool = False) -> Self: ...
        def ravel(self, order: str = "C", *, out_sharding: Any = None) -> Self: ...
        def repeat(
            self, repeats: ArrayLike, axis: int | None = None, *, total_repeat_length: int | None = None,
            out_sharding: Any = None,
        ) -> Self: ...
        def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Self: ...
        def round(self, decimals: int = 0, out: None = None) -> Self: ...
        def searchsorted(
            self, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None, *, method: str = "scan"
        ) -> Self: ...
        def sort(
            self, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
            descending: bool = False,
        ) -> Self: ...
        def squeeze(self, axis: Axes = None) -> Self: ...
        def std(
            self, axis: Axes = None, dtype: DTypeLike = None, out: None = None, ddof: int = 0,
            keepdims: bool = False, *, where: ArrayLike | None = None, correction: float | None = None,
            mean: ArrayLike | None = None,
        ) -> Self: ...
        def var(
            self, axis: Axes = None, dtype: DTypeLike = None, out: None = None, ddof: int = 0,
            keepdims: bool = False, *, where: ArrayLike | None = None, correction: float | None = None,
            mean: ArrayLike | None = None,
        ) -> Self: ...
        def swapaxes(self, axis1: int, axis2: int) -> Self: ...
        def take(
            self, indices: ArrayLike, axis: int | None = None, out: None = None, mode: str | None = None,
            unique_indices: bool = False, indices_are_sorted: bool = False, fill_value: ArrayLike | None = None,
        ) -> Self: ...
        def trace(
            self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None, out: None = None
        ) -> Self: ...
        def transpose(self, *axes: Any) -> Self: ...
        def byteswap(self) -> Self: ...
        def copy_to_host_async(self) -> None: ...
        def on_device_size_in_bytes(self) -> int: ...
        def unsafe_buffer_pointer(self) -> int: ...
        def view(self, dtype: DTypeLike = None, type: None = None) -> Self: ...
        T: Self
        @property
        def mT(self) -> Self: ...
        real: Self
        imag: Self
        @property
        def at(self) -> IndexUpdate[Self]: ...
        flat: Any
        # fmt: on


if TYPE_CHECKING:
    # fmt: off
    class IndexUpdate(Generic[_A]):
        """What ``x.at`` is."""

        def __getitem__(self, index: Any, /) -> IndexedUpdate[_A]: ...

    class IndexedUpdate(Generic[_A]):
        """What ``x.at[index]`` is."""

        def get(self, **options: Any) -> _A: ...
        def set(self, values: ArrayLike, **options: Any) -> _A: ...
        add = subtract = multiply = mul = divide = power = min = max = set
        def apply(self, func: Callable[[_A], Any], **options: Any) -> _A: ...
    # fmt: on


def _method(name: str) -> Callable[..., Any]:
    known = methods.__dict__

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return (known.get(name) or getattr(methods, name))(self, *args, **kwargs)
        except Exception:
            above.shorten_traceback()
            raise

    method.__name__, method.__qualname__ = name, f"ArrayOperators.{name}"
    method.__doc__ = f"As ``plugjax.numpy.{name}`` with this array first."
    return method


def _property(name: str) -> Any:
    known = methods.__dict__

    def get(self: Any) -> Any:
        return (known.get(name) or getattr(methods, name))(self)

    return property(get, doc=f"As in ``jax.Array.{name}``.")


_METHODS = {
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "byteswap", "choose", "clip", "compress", "conj", "conjugate", "copy", "copy_to_host_async", "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min", "nonzero", "on_device_size_in_bytes", "prod", "ptp", "ravel", "repeat", "reshape", "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "unsafe_buffer_pointer", "var", "view",
}  # fmt: skip
for _name in _METHODS:
    setattr(ArrayOperators, _name, _method(_name))
for _name in ("T", "mT", "real", "imag", "at", "flat"):
    setattr(ArrayOperators, _name, _property(_name))


@typing.runtime_checkable
class GivesArray(Protocol):
    """An object that gives an array for itself."""

    def __jax_array__(self) -> Any: ...


Axes: TypeAlias = int | Sequence[int] | None
ArrayLike: TypeAlias = ArrayOperators | GivesArray | np.ndarray | np.generic | int | float | complex
_OPERANDS = (ArrayOperators, int, float, complex, np.ndarray, np.generic)
