"""Universal functions: elementwise functions with methods to reduce, to accumulate and to apply at indices."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.extend.dtypes import BOOL, DType, DTypeLike
from plugjax.extend.execution import eval_shape
from plugjax.extend.transforms import api_boundary, shorten_traceback, vmap
from plugjax.numpy import selection
from plugjax.numpy.functional import vectorize
from plugjax.numpy.indexing import take
from plugjax.numpy.joining import append
from plugjax.numpy.manipulation import broadcast_to, canonical_axis, moveaxis, ravel
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operand,
    broadcast_shape,
    canonical_dtype,
    check_arraylike,
    converted,
    reject_out,
)

__all__ = ["frompyfunc", "ufunc"]

_R = TypeVar("_R")


class ufunc(Generic[_R]):
    """A function of scalars as a function of arrays, with the methods of NumPy's universal functions.

    Args:
        func: a function of scalars.
        nin: number of its arguments.
        nout: number of its results.
        name: its name.
        nargs: number of arguments that can be given; ``nin`` by default.
        identity: neutral element, the start of a reduction.
        call: a function of arrays to use instead of ``func`` vectorized.
        reduce: a function ``(a, *, axis, dtype, keepdims, initial, where)`` to reduce by.
        accumulate: a function ``(a, *, axis, dtype)`` to accumulate by.
        at: a function ``(a, indices[, b])`` for :meth:`at`.
        reduceat: a function ``(a, indices, *, axis, dtype)`` for :meth:`reduceat`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> add = jnp.frompyfunc(lambda x, y: x + y, 2, 1, identity=0)
        >>> add.reduce(jnp.arange(4))
        Array(6, dtype=int32)
        >>> add.outer(jnp.arange(2), jnp.arange(2))
        Array([[0, 1],
               [1, 2]], dtype=int32)
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
    ) -> None:
        self.__doc__ = func.__doc__
        self.__name__ = name or func.__name__
        self._func = func
        self._nin = operator.index(nin)
        self._nout = operator.index(nout)
        self._nargs = operator.index(nargs or nin)
        self._identity = identity
        self._vectorized = vectorize(func)
        self._call: Callable[..., Any] = call or self._mapped
        self._reduce = reduce or self._fold
        self._accumulate = accumulate or self._scan
        self._at = at or self._update
        self._reduceat = reduceat or self._fold_segments

    @property
    def nin(self) -> int:
        """Number of arguments."""
        return self._nin

    @property
    def nout(self) -> int:
        """Number of results."""
        return self._nout

    @property
    def nargs(self) -> int:
        """Number of arguments that can be given."""
        return self._nargs

    @property
    def identity(self) -> Any:
        """Neutral element, if there is one."""
        return self._identity

    def _key(self) -> tuple[Any, ...]:
        return (self._func, self.__name__, self._identity, self._nin, self._nout, self._nargs)

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ufunc) and self._key() == other._key()

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __call__(self, *args: ArrayLike, out: None = None, where: None = None) -> _R:
        """The function, elementwise; arguments broadcast."""
        try:
            if out is not None or where is not None:
                self._refuse_options(out)
            return self._call(*args)
        except Exception:
            shorten_traceback()
            raise

    def _refuse_options(self, out: None) -> None:
        reject_out(self.__name__, out)
        raise NotImplementedError(
            f"{self.__name__}: 'where' is not available; use jnp.where on the result."
        )

    def _mapped(self, *args: ArrayLike) -> Any:
        check_arraylike(self.__name__, *args)
        return self._vectorized(*args)

    def _check_binary(self, method: str) -> None:
        if self._nin != 2:
            raise ValueError(
                f"{self.__name__}.{method} needs a function of two arguments, not {self._nin}."
            )
        if self._nout != 1:
            raise ValueError(
                f"{self.__name__}.{method} needs a function with one result, not {self._nout}."
            )

    def _dtype(self, dtype: DTypeLike | None, *args: Operand) -> DType:
        if dtype is not None:
            return canonical_dtype(self.__name__, dtype)
        found: DType = eval_shape(self._func, *(lax.full((), 1, x.dtype) for x in args)).dtype
        return found

    @api_boundary
    def reduce(
        self,
        a: ArrayLike,
        axis: int | None = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        """The elements along an axis combined, from the first to the last.

        Args:
            a: the array.
            axis: along which; ``None`` for all elements.
            dtype: dtype of the computation.
            out: not supported.
            keepdims: keep the axis with size 1.
            initial: the start; by default the identity, else the first element.
            where: mask of the elements that count.
        """
        self._check_binary("reduce")
        reject_out(f"{self.__name__}.reduce()", out)
        x = as_operand(f"{self.__name__}.reduce", a)
        if where is not None:
            if self._identity is None and initial is None:
                raise ValueError(
                    f"{self.__name__}.reduce has no identity for what 'where' leaves out; give 'initial', too."
                )
            where = as_operand(f"{self.__name__}.reduce", where)
            if where.dtype != BOOL:
                raise ValueError(
                    f"{self.__name__}.reduce: 'where' is a mask of bools, got dtype {where.dtype}."
                )
        found: Array = self._reduce(
            x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where
        )
        return found

    def _fold(
        self,
        x: Operand,
        *,
        axis: int | None,
        dtype: DTypeLike | None,
        keepdims: bool,
        initial: ArrayLike | None,
        where: Operand | None,
    ) -> Array:
        if isinstance(axis, tuple):
            raise NotImplementedError(
                f"{self.__name__}.reduce goes along one axis; reduce again for the next."
            )
        wanted = self._dtype(dtype, x, x)
        mask = None if where is None else broadcast_to(where, x.shape)
        kept = (1,) * x.ndim
        if axis is None:
            x, mask, axis = ravel(x), None if mask is None else ravel(mask), 0
        else:
            axis = canonical_axis(axis, x.ndim)
            kept = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        x = converted(moveaxis(x, axis, 0), wanted)
        mask = None if mask is None else moveaxis(mask, axis, 0)
        start = self._identity if initial is None else initial
        if start is None:
            if not x.shape[0]:
                raise ValueError(
                    f"{self.__name__}.reduce has no identity, so it needs elements; give 'initial'."
                )
            carry, x = x[0], x[1:]
        else:
            start = converted(as_operand(self.__name__, start), wanted)
            carry = broadcast_to(start, x.shape[1:])

        def step(carry: Array, each: Any) -> tuple[Array, None]:
            element, chosen = each
            combined = converted(self._call(carry, element), wanted)
            return (combined if chosen is None else selection.where(chosen, combined, carry)), None

        found, _ = lax.scan(step, carry, (x, mask))
        return lax.reshape(found, kept) if keepdims else found

    @api_boundary
    def accumulate(
        self, a: ArrayLike, axis: int = 0, dtype: DTypeLike | None = None, out: None = None
    ) -> Array:
        """The cumulative combination of the elements along an axis."""
        self._check_binary("accumulate")
        reject_out(f"{self.__name__}.accumulate()", out)
        x = as_operand(f"{self.__name__}.accumulate", a)
        found: Array = self._accumulate(x, axis=axis, dtype=dtype)
        return found

    def _scan(self, x: Operand, *, axis: int, dtype: DTypeLike | None) -> Array:
        if axis is None or isinstance(axis, tuple):
            raise ValueError(f"{self.__name__}.accumulate goes along one axis, got {axis}.")
        wanted = self._dtype(dtype, x, x)
        axis = canonical_axis(axis, x.ndim)
        x = converted(x, wanted)
        if not x.size:
            return x
        x = moveaxis(x, axis, 0)

        def step(carry: Array, element: Array) -> tuple[Array, Array]:
            combined = converted(self._call(carry, element), wanted)
            return combined, combined

        _, rest = lax.scan(step, x[0], x[1:])
        return moveaxis(lax.concatenate([x[:1], rest], 0), 0, axis)

    @api_boundary
    def at(
        self, a: ArrayLike, indices: Any, b: ArrayLike | None = None, /, *, inplace: bool = True
    ) -> Array:
        """``a`` with the function applied at indices, repeatedly for repeated ones; needs ``inplace=False``.

        Args:
            a: the array.
            indices: an index array, or a tuple of index arrays and slices.
            b: second argument, broadcast to the indices.
            inplace: must be ``False``.
        """
        if inplace:
            raise NotImplementedError(
                f"{self.__name__}.at: arrays are immutable, so a new one is made. Say so with inplace=False."
            )
        x = as_operand(f"{self.__name__}.at", a)
        found: Array = self._at(x, indices) if b is None else self._at(x, indices, b)
        return found

    def _update(self, x: Operand, indices: Any, *others: ArrayLike) -> Array:
        operands = [as_operand(f"{self.__name__}.at", b) for b in others]
        wanted = self._dtype(None, x, *operands)
        x, operands = converted(x, wanted), [converted(b, wanted) for b in operands]
        index = indices if isinstance(indices, tuple) else (indices,)
        if not index:
            return x
        index = tuple(i if isinstance(i, slice) else as_operand("at", i) for i in index)
        shapes = [i.shape for i in index if not isinstance(i, slice)]
        shape = broadcast_shape("at", *shapes) if shapes else ()
        if not shape:
            found: Any = self(x.at[index].get(), *operands)
            return x.at[index].set(found)
        count = int(np.prod(shape))
        rows = [None if isinstance(i, slice) else ravel(broadcast_to(i, shape)) for i in index]
        if operands:
            (b,) = operands
            tail = b.shape[len(shape) :]
            operands = [lax.reshape(broadcast_to(b, (*shape, *tail)), (count, *tail))]

        def step(carry: Array, each: Any) -> tuple[Array, None]:
            places, values = each
            here = tuple(
                i if isinstance(i, slice) else place for i, place in zip(index, places, strict=True)
            )
            new = converted(self._call(carry.at[here].get(), *values), wanted)
            return carry.at[here].set(new), None

        found, _ = lax.scan(step, x, (rows, operands), length=count)
        return found

    @api_boundary
    def reduceat(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int = 0,
        dtype: DTypeLike | None = None,
        out: None = None,
    ) -> Array:
        """The segments of an axis combined: each goes from one index to the next, and has at least one element."""
        self._check_binary("reduceat")
        reject_out(f"{self.__name__}.reduceat()", out)
        x = as_operand(f"{self.__name__}.reduceat", a)
        starts = as_operand(f"{self.__name__}.reduceat", indices)
        found: Array = self._reduceat(x, starts, axis=axis, dtype=dtype)
        return found

    def _fold_segments(
        self, x: Operand, starts: Operand, *, axis: int, dtype: DTypeLike | None
    ) -> Array:
        if not x.ndim:
            raise ValueError(
                f"{self.__name__}.reduceat: a scalar has no segments, got shape {x.shape}"
            )
        if starts.ndim != 1:
            raise ValueError(
                f"{self.__name__}.reduceat: indices is a vector, got shape {starts.shape}"
            )
        if axis is None or isinstance(axis, (tuple, list)):
            raise ValueError(f"{self.__name__}.reduceat goes along one axis, got {axis}.")
        axis = canonical_axis(axis, x.ndim)
        wanted = self._dtype(dtype, x, x)
        if dtype is not None or dtypes.is_inexact(wanted):
            x = converted(x, wanted)
        found = take(x, starts, axis)
        ends = append(starts[1:], x.shape[axis])
        rows = tuple(-1 if i == axis else 1 for i in range(x.ndim))
        starts, ends = starts.reshape(rows), ends.reshape(rows)

        def step(i: Any, found: Array) -> Array:
            element = lax.dynamic_slice_in_dim(x, i, 1, axis)
            combined = converted(self._call(found, element), found.dtype)
            return selection.where((i > starts) & (i < ends), combined, found)

        return lax.fori_loop(0, x.shape[axis], step, found)

    @api_boundary
    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """The function of every pair of elements."""
        self._check_binary("outer")
        x, y = (as_operand(f"{self.__name__}.outer", v) for v in (A, B))
        pairs: Callable[..., Any] = vmap(vmap(self, (None, 0)), (0, None))
        return lax.reshape(pairs(ravel(x), ravel(y)), (*x.shape, *y.shape))


def frompyfunc(
    func: Callable[..., Any], /, nin: int, nout: int, *, identity: ArrayLike | None = None
) -> ufunc[Any]:
    """A universal function from a function of scalars, which must be traceable.

    Args:
        func: the function.
        nin: number of its arguments.
        nout: number of its results.
        identity: neutral element, the start of a reduction.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.frompyfunc(lambda x: x + 1, 1, 1)(jnp.arange(3))
        Array([1, 2, 3], dtype=int32)
    """
    return ufunc(func, operator.index(nin), operator.index(nout), identity=identity)
