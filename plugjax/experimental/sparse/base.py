"""What all sparse arrays share."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax.experimental import sparse
from plugjax.extend.core import Tracer

Shape = tuple[int, ...]


class JAXSparse(abc.ABC):
    """Base class of sparse arrays: pytrees of a buffer of values and buffers of indices.

    Attributes:
        data: stored values.
        shape: of the array that they stand for.
    """

    data: Any
    shape: Shape
    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    # Operators of NumPy arrays on the left leave the work to the sparse array.
    __array_priority__ = 100
    __array_ufunc__ = None

    def __init__(self, args: tuple[Any, ...], *, shape: Sequence[int]) -> None:
        self.shape = tuple(int(size) for size in shape)

    @property
    @abc.abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the stored values."""

    @property
    @abc.abstractmethod
    def nse(self) -> int:
        """Number of stored elements."""

    @property
    def size(self) -> int:
        """Number of elements of the array, stored or not."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def _extra(self) -> str:
        """What the representation says beside dtype, shape and number of stored elements."""
        return ""

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            text = f"{name}({self.dtype}{list(self.shape)}, nse={self.nse}{self._extra()})"
        except Exception:
            # A tree of other leaves than arrays, such as those of a structure.
            text = f"{name}(<invalid>)"
        return f"{type(self.data).__name__}[{text}]" if isinstance(self.data, Tracer) else text

    @abc.abstractmethod
    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """Buffers, and what else describes the array."""

    @classmethod
    @abc.abstractmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> Any:
        """The array of buffers and their description."""

    @abc.abstractmethod
    def transpose(self, axes: Any = None) -> Any:
        """The array with its axes in another order."""

    @abc.abstractmethod
    def todense(self) -> Any:
        """The array as a dense one."""

    @property
    def T(self) -> Any:  # noqa: N802  # NumPy's name
        """The array with its axes reversed."""
        return self.transpose()

    def block_until_ready(self) -> Any:
        """Wait until the values are there; returns the array."""
        for buffer in self.tree_flatten()[0]:
            buffer.block_until_ready()
        return self


def take_operators(kind: type[JAXSparse], names: Sequence[str]) -> None:
    """Give a class methods of those of dense arrays; :mod:`~plugjax.experimental.sparse.operators` is loaded on first use."""
    for name in names:
        setattr(kind, name, _operator(name))


def _operator(name: str) -> Any:
    def method(self: JAXSparse, *args: Any, **kwargs: Any) -> Any:
        return sparse.operators.METHODS[name](self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"``{name}`` of dense arrays, under :func:`sparsify`."
    return method


def _absent(name: str) -> Any:
    def method(self: JAXSparse, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{type(self)}.{name} is not implemented. Use a BCOO, or todense()."
        )

    method.__name__ = name
    method.__doc__ = f"``{name}``, which only some classes have."
    return method


for _name in (
    "sum", "__neg__", "__pos__", "__matmul__", "__rmatmul__", "__mul__", "__rmul__", "__add__", "__radd__", "__sub__",
    "__rsub__", "__getitem__",
):  # fmt: skip
    setattr(JAXSparse, _name, _absent(_name))


def diagonal_places(rows: int, columns: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the entries on a diagonal of a matrix, in order; ``k`` is how far it lies above the main one."""
    size = min(rows, columns - k) if k > 0 else min(rows + k, columns)
    along = np.arange(max(size, 0))
    return along - min(k, 0), along + max(k, 0)
