"""Operators and methods of arrays and tracers.

A static mixin: every operator delegates to a function of the same meaning in :data:`methods`, a namespace that the hook
``plugjax_array_methods`` fills. So the core has ``x + y`` without knowing what addition is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from plugjax.core.aval import Shape, ShapedArray
    from plugjax.core.dtypes import DType


class Methods:
    """Namespace of the functions behind operators and methods; filled on the first look-up after the plugins changed."""

    def __init__(self) -> None:
        self._source: Callable[[], dict[str, Callable[..., Any]]] | None = None

    def __getattr__(self, name: str) -> Any:
        source = self.__dict__.get("_source")
        if source is None or name.startswith("__"):
            raise AttributeError(name)
        found = source()
        self.__dict__.update(found)
        if name not in found:
            raise AttributeError(
                f"no plugin provides the array method '{name}' (hook plugjax_array_methods)"
            )
        return found[name]

    def refill(self, source: Callable[[], dict[str, Callable[..., Any]]]) -> None:
        """Drop all functions; ask ``source`` for them at the next look-up."""
        self._source = source
        self.clear()

    def clear(self) -> None:
        """Drop all functions; the next look-up asks for them again."""
        for name in [name for name in self.__dict__ if name != "_source"]:
            self.__dict__.pop(name, None)


methods = Methods()
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

    def __getitem__(self, index: Any) -> Any:
        return methods.getitem(self, index)

    def __iter__(self) -> Iterator[Any]:
        if not self.aval.shape:
            raise TypeError("a 0-d array has no axis to iterate over.")
        return iter(methods.unstack(self))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(
            f"{type(self).__name__} objects are immutable: their items cannot be set in place. "
            "Write x = x.at[idx].set(y), which gives a new array."
        )

    def __round__(self, ndigits: int | None = None) -> Any:
        return methods.round(self, ndigits or 0)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return methods.array_namespace(api_version)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return methods.array_ufunc(ufunc, method, *inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return methods.array_function(func, args, kwargs)

    __hash__ = None  # type: ignore[assignment]  # equality is elementwise

    def __add__(self, other: Any) -> Any:
        return methods.add(self, other) if _accepts(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return methods.add(other, self) if _accepts(other) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return methods.subtract(self, other) if _accepts(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return methods.subtract(other, self) if _accepts(other) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return methods.multiply(self, other) if _accepts(other) else NotImplemented

    def __rmul__(self, other: Any) -> Any:
        return methods.multiply(other, self) if _accepts(other) else NotImplemented

    def __truediv__(self, other: Any) -> Any:
        return methods.true_divide(self, other) if _accepts(other) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return methods.true_divide(other, self) if _accepts(other) else NotImplemented

    def __floordiv__(self, other: Any) -> Any:
        return methods.floor_divide(self, other) if _accepts(other) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return methods.floor_divide(other, self) if _accepts(other) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return methods.remainder(self, other) if _accepts(other) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return methods.remainder(other, self) if _accepts(other) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return methods.divmod(self, other) if _accepts(other) else NotImplemented

    def __rdivmod__(self, other: Any) -> Any:
        return methods.divmod(other, self) if _accepts(other) else NotImplemented

    def __pow__(self, other: Any) -> Any:
        return methods.power(self, other) if _accepts(other) else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return methods.power(other, self) if _accepts(other) else NotImplemented

    def __matmul__(self, other: Any) -> Any:
        return methods.matmul(self, other) if _accepts(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return methods.matmul(other, self) if _accepts(other) else NotImplemented

    def __and__(self, other: Any) -> Any:
        return methods.bitwise_and(self, other) if _accepts(other) else NotImplemented

    def __rand__(self, other: Any) -> Any:
        return methods.bitwise_and(other, self) if _accepts(other) else NotImplemented

    def __or__(self, other: Any) -> Any:
        return methods.bitwise_or(self, other) if _accepts(other) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return methods.bitwise_or(other, self) if _accepts(other) else NotImplemented

    def __xor__(self, other: Any) -> Any:
        return methods.bitwise_xor(self, other) if _accepts(other) else NotImplemented

    def __rxor__(self, other: Any) -> Any:
        return methods.bitwise_xor(other, self) if _accepts(other) else NotImplemented

    def __lshift__(self, other: Any) -> Any:
        return methods.left_shift(self, other) if _accepts(other) else NotImplemented

    def __rlshift__(self, other: Any) -> Any:
        return methods.left_shift(other, self) if _accepts(other) else NotImplemented

    def __rshift__(self, other: Any) -> Any:
        return methods.right_shift(self, other) if _accepts(other) else NotImplemented

    def __rrshift__(self, other: Any) -> Any:
        return methods.right_shift(other, self) if _accepts(other) else NotImplemented

    def __eq__(self, other: Any) -> Any:
        return methods.equal(self, other) if _compares(other) else NotImplemented

    def __ne__(self, other: Any) -> Any:
        return methods.not_equal(self, other) if _compares(other) else NotImplemented

    def __lt__(self, other: Any) -> Any:
        return methods.less(self, other) if _accepts(other) else NotImplemented

    def __le__(self, other: Any) -> Any:
        return methods.less_equal(self, other) if _accepts(other) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return methods.greater(self, other) if _accepts(other) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return methods.greater_equal(self, other) if _accepts(other) else NotImplemented

    def __neg__(self) -> Any:
        return methods.negative(self)

    def __pos__(self) -> Any:
        return methods.positive(self)

    def __abs__(self) -> Any:
        return methods.abs(self)

    def __invert__(self) -> Any:
        return methods.bitwise_not(self)

    def all(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.all`` with this array first."""
        return methods.all(self, *args, **kwargs)

    def any(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.any`` with this array first."""
        return methods.any(self, *args, **kwargs)

    def argmax(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.argmax`` with this array first."""
        return methods.argmax(self, *args, **kwargs)

    def argmin(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.argmin`` with this array first."""
        return methods.argmin(self, *args, **kwargs)

    def argpartition(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.argpartition`` with this array first."""
        return methods.argpartition(self, *args, **kwargs)

    def argsort(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.argsort`` with this array first."""
        return methods.argsort(self, *args, **kwargs)

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.astype`` with this array first."""
        return methods.astype(self, *args, **kwargs)

    def choose(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.choose`` with this array first."""
        return methods.choose(self, *args, **kwargs)

    def clip(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.clip`` with this array first."""
        return methods.clip(self, *args, **kwargs)

    def compress(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.compress`` with this array first."""
        return methods.compress(self, *args, **kwargs)

    def conj(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.conj`` with this array first."""
        return methods.conj(self, *args, **kwargs)

    def conjugate(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.conjugate`` with this array first."""
        return methods.conjugate(self, *args, **kwargs)

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.copy`` with this array first."""
        return methods.copy(self, *args, **kwargs)

    def cumprod(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.cumprod`` with this array first."""
        return methods.cumprod(self, *args, **kwargs)

    def cumsum(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.cumsum`` with this array first."""
        return methods.cumsum(self, *args, **kwargs)

    def diagonal(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.diagonal`` with this array first."""
        return methods.diagonal(self, *args, **kwargs)

    def dot(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.dot`` with this array first."""
        return methods.dot(self, *args, **kwargs)

    def flatten(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.flatten`` with this array first."""
        return methods.flatten(self, *args, **kwargs)

    def max(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.max`` with this array first."""
        return methods.max(self, *args, **kwargs)

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.mean`` with this array first."""
        return methods.mean(self, *args, **kwargs)

    def min(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.min`` with this array first."""
        return methods.min(self, *args, **kwargs)

    def nonzero(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.nonzero`` with this array first."""
        return methods.nonzero(self, *args, **kwargs)

    def prod(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.prod`` with this array first."""
        return methods.prod(self, *args, **kwargs)

    def ptp(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.ptp`` with this array first."""
        return methods.ptp(self, *args, **kwargs)

    def ravel(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.ravel`` with this array first."""
        return methods.ravel(self, *args, **kwargs)

    def repeat(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.repeat`` with this array first."""
        return methods.repeat(self, *args, **kwargs)

    def reshape(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.reshape`` with this array first."""
        return methods.reshape(self, *args, **kwargs)

    def round(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.round`` with this array first."""
        return methods.round(self, *args, **kwargs)

    def searchsorted(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.searchsorted`` with this array first."""
        return methods.searchsorted(self, *args, **kwargs)

    def sort(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.sort`` with this array first."""
        return methods.sort(self, *args, **kwargs)

    def squeeze(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.squeeze`` with this array first."""
        return methods.squeeze(self, *args, **kwargs)

    def std(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.std`` with this array first."""
        return methods.std(self, *args, **kwargs)

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.sum`` with this array first."""
        return methods.sum(self, *args, **kwargs)

    def swapaxes(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.swapaxes`` with this array first."""
        return methods.swapaxes(self, *args, **kwargs)

    def take(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.take`` with this array first."""
        return methods.take(self, *args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.trace`` with this array first."""
        return methods.trace(self, *args, **kwargs)

    def transpose(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.transpose`` with this array first."""
        return methods.transpose(self, *args, **kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.var`` with this array first."""
        return methods.var(self, *args, **kwargs)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """As ``plugjax.numpy.view`` with this array first."""
        return methods.view(self, *args, **kwargs)

    @property
    def T(self) -> Any:
        """As in ``jax.Array.T``."""
        return methods.T(self)

    @property
    def mT(self) -> Any:
        """As in ``jax.Array.mT``."""
        return methods.mT(self)

    @property
    def real(self) -> Any:
        """As in ``jax.Array.real``."""
        return methods.real(self)

    @property
    def imag(self) -> Any:
        """As in ``jax.Array.imag``."""
        return methods.imag(self)

    @property
    def at(self) -> Any:
        """As in ``jax.Array.at``."""
        return methods.at(self)

    @property
    def flat(self) -> Any:
        """As in ``jax.Array.flat``."""
        return methods.flat(self)


_OPERANDS = (ArrayOperators, int, float, complex, np.ndarray, np.generic)
