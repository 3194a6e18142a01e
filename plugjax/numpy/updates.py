"""Updating parts of arrays: ``x.at[index].set(y)`` and its like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import pytree
from plugjax.extend.core import Array
from plugjax.extend.meshes import ShardingLike, untyped
from plugjax.extend.transforms import api_boundary
from plugjax.lax.placement import freely, laid_out
from plugjax.lax.requested_dtypes import warn_caller
from plugjax.numpy.arithmetic import divide, power
from plugjax.numpy.index_plan import entries, make_plan, masks_as_arrays
from plugjax.numpy.indexing import along_axis, gather, getitem, index_array, integers
from plugjax.numpy.manipulation import ravel
from plugjax.numpy.promotion import (
    ArrayLike,
    as_operand,
    broadcast_to_shape,
    convert,
    join_dtypes,
    scalar,
)

__all__ = ["IndexUpdate", "IndexedUpdate", "at", "fill_diagonal", "place", "put", "put_along_axis"]


class IndexUpdate:
    """``x.at``: functional updates, ``x.at[index].set(y)`` and its like.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.zeros(3).at[1].set(5)
        Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexedUpdate:
        return IndexedUpdate(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


class IndexedUpdate:
    """``x.at[index]``. Every method returns a new array.

    ``mode`` is the treatment of indices out of bounds: ``"drop"`` (the default; ``"fill"`` is the same) drops them,
    ``"clip"`` clamps them, ``"promise_in_bounds"`` promises that there are none.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Array, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    @api_boundary
    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        wrap_negative_indices: bool = True,
        out_sharding: ShardingLike | None = None,
    ) -> Array:
        """``x[index]``; with mode ``"fill"``, elements out of bounds are ``fill_value`` (nan by default)."""
        if out_sharding is not None:
            found = IndexedUpdate(untyped(self.array), pytree.tree_map(untyped, self.index)).get(
                indices_are_sorted=indices_are_sorted,
                unique_indices=unique_indices,
                mode=mode,
                fill_value=fill_value,
                wrap_negative_indices=wrap_negative_indices,
            )
            return laid_out("at", found, out_sharding)
        if mode is None and fill_value is None and wrap_negative_indices:
            return getitem(self.array, self.index)
        row = entries(self.array.shape, self.index)
        return gather(
            self.array,
            row,
            mode,
            fill_value,
            indices_are_sorted,
            unique_indices,
            wrap_negative_indices,
        )

    def _scatter(
        self, operation: Callable[..., Any], values: ArrayLike, x: Array | None, **options: Any
    ) -> Array:
        operand = self.array if x is None else x
        return _scatter(operation, operand, self.index, values, **options)

    @api_boundary
    def set(self, values: ArrayLike, **options: Any) -> Array:
        """``x`` with ``values`` at the index."""
        return self._scatter(lax.scatter, values, None, **options)

    @api_boundary
    def add(self, values: ArrayLike, **options: Any) -> Array:
        """``x`` with ``values`` added at the index, repeatedly for repeated indices."""
        return self._scatter(lax.scatter_add, values, None, **options)

    @api_boundary
    def subtract(self, values: ArrayLike, **options: Any) -> Array:
        """``x`` with ``values`` subtracted at the index."""
        return self._scatter(lax.scatter_sub, values, None, **options)

    @api_boundary
    def multiply(self, values: ArrayLike, **options: Any) -> Array:
        """``x`` multiplied by ``values`` at the index."""
        return self._scatter(lax.scatter_mul, values, None, **options)

    mul = multiply

    @api_boundary
    def divide(self, values: ArrayLike, **options: Any) -> Array:
        """``x`` divided by ``values`` at the index."""
        return divide(
            self.array,
            self._scatter(lax.scatter_mul, values, lax.full_like(self.array, 1), **options),
        )

    @api_boundary
    def power(self, values: ArrayLike, **options: Any) -> Array:
        """``x`` to the power of ``values`` at the index."""
        return power(
            self.array,
            self._scatter(lax.scatter_mul, values, lax.full_like(self.array, 1), **options),
        )

    @api_boundary
    def min(self, values: ArrayLike, **options: Any) -> Array:
        """The smaller of ``x`` and ``values`` at the index."""
        return self._scatter(lax.scatter_min, values, None, **options)

    @api_boundary
    def max(self, values: ArrayLike, **options: Any) -> Array:
        """The larger of ``x`` and ``values`` at the index."""
        return self._scatter(lax.scatter_max, values, None, **options)

    @api_boundary
    def apply(self, func: Callable[[Array], Array], **options: Any) -> Array:
        """``x`` with ``func``, a function of scalars, applied at the index, repeatedly for repeated indices."""

        def operation(x: Array, index: Any, y: Array, numbers: Any, **promises: Any) -> Array:
            return lax.scatter_apply(x, index, func, numbers, update_shape=y.shape, **promises)

        return self._scatter(operation, scalar(0, self.array), None, **options)


def _scatter(
    operation: Callable[..., Any],
    x: Array,
    index: Any,
    values: ArrayLike,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    wrap_negative_indices: bool = True,
    out_sharding: ShardingLike | None = None,
) -> Array:
    if out_sharding is not None:
        return laid_out(
            "at",
            freely(
                _scatter,
                operation=operation,
                x=x,
                index=index,
                values=values,
                indices_are_sorted=indices_are_sorted,
                unique_indices=unique_indices,
                mode=mode,
                wrap_negative_indices=wrap_negative_indices,
            ),
            out_sharding,
        )
    row, axes = masks_as_arrays(entries(x.aval.shape, index))
    target = lax.expand_dims(x, axes) if axes else x
    plan = make_plan(target.aval.shape, row, wrap_negative_indices)
    indices = index_array(plan, x)
    y = as_operand("scatter", values)
    joined = x.dtype if y.dtype == x.dtype else join_dtypes(x, y)[0]
    if joined != x.dtype:
        warn_caller(
            f"scatter inputs have incompatible types: values of dtype {y.dtype.name} do not fit into {x.dtype.name}. "
            "Convert them with .astype first; later versions raise.",
            FutureWarning,
        )
        # Compute in the dtype of both; then truncate the result.
        joined = x.dtype if operation is lax.scatter else joined
    if y.dtype != joined or y.weak_type != x.weak_type:
        y = lax.convert_element_type(y, joined)
    full = list(plan.shape)
    for axis in plan.new_axes:
        full.insert(axis, 1)
    y = broadcast_to_shape("scatter", y, tuple(full))
    if plan.new_axes:
        y = lax.squeeze(y, plan.new_axes)
    if 0 in y.shape:
        return x
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=plan.numbers.offset_dims,
        inserted_window_dims=plan.numbers.collapsed_slice_dims,
        scatter_dims_to_operand_dims=plan.numbers.start_index_map,
    )
    changed = operation(
        target if joined == x.dtype else lax.convert_element_type(target, joined),
        indices,
        y,
        numbers,
        indices_are_sorted=_promised(indices_are_sorted) or plan.ordered,
        unique_indices=_promised(unique_indices) or plan.ordered,
        mode=mode,
    )
    if joined != x.dtype:
        changed = convert(changed, x.dtype, x.weak_type)
    return lax.squeeze(changed, axes) if axes else changed


def _promised(flag: Any) -> bool:
    return flag if type(flag) is bool else bool(np.all(flag))


def at(x: Array) -> IndexUpdate:
    """The value of ``x.at``."""
    return IndexUpdate(x)


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """``arr`` with values set along an axis, at indices that differ from row to row; needs ``inplace=False``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.put_along_axis(jnp.zeros((1, 3)), jnp.array([[2]]), 1.0, axis=1, inplace=False)
        Array([[0., 0., 1.]], dtype=float32)
    """
    if inplace:
        raise ValueError(
            "put_along_axis: arrays are immutable, so a new one is made. Say so with inplace=False."
        )
    x = as_operand("put_along_axis", arr)
    _, chosen, position = along_axis("put_along_axis", x, indices, axis)
    flat = x if axis is not None else ravel(x)
    # Along an axis of size 1 all indices mean its only element.
    grids = tuple(
        chosen if i == position else lax.broadcasted_iota(np.int32, chosen.shape, i) % size
        for i, size in enumerate(flat.shape)
    )
    return lax.reshape(IndexUpdate(flat)[grids].set(values, mode=mode), x.shape)


def put(
    a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str | None = None, *, inplace: bool = True
) -> Array:
    """The flattened array with values set at indices; needs ``inplace=False``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.put(jnp.zeros(3), jnp.array([1]), 5.0, inplace=False)
        Array([0., 5., 0.], dtype=float32)
    """
    if inplace:
        raise ValueError(
            "put: arrays are immutable, so a new one is made. Say so with inplace=False."
        )
    x, chosen, values = (
        as_operand("put", a),
        ravel(integers("put", ind)),
        ravel(as_operand("put", v)),
    )
    if not chosen.size or not values.size or not x.size:
        return x
    if not x.ndim:
        raise ValueError("put: a number without axes has no places to put values at.")
    repeats = -(-chosen.size // values.size)
    values = lax.slice_in_dim(lax.concatenate([values] * repeats, 0), 0, chosen.size)
    if mode == "wrap":
        chosen, mode = lax.rem(chosen, scalar(x.size, chosen)), None
    elif mode == "clip":
        chosen = lax.clamp(scalar(0, chosen), chosen, scalar(x.size - 1, chosen))
    return lax.reshape(IndexUpdate(ravel(x))[chosen].set(values, mode=mode), x.shape)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """``arr`` with values cyclically put where a mask holds; needs ``inplace=False``.

    Raises:
        ValueError: ``inplace``, a mask of another size, or no values.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.place(jnp.array([1, 2, 3]), jnp.array([True, False, True]), jnp.array([8, 9]), inplace=False)
        Array([8, 2, 9], dtype=int32)
    """
    if inplace:
        raise ValueError(
            "place: arrays are immutable, so a new one is made. Say so with inplace=False."
        )
    x, where, values = (as_operand("place", v) for v in (arr, mask, vals))
    if x.size != where.size:
        raise ValueError(f"place: arr has {x.size} elements, mask {where.size}.")
    if not values.size:
        raise ValueError("place: vals is empty.")
    if not x.size:
        return x
    (places,) = ravel(where).nonzero(size=x.size, fill_value=x.size)
    values = ravel(values)
    repeats = -(-x.size // values.size)
    values = lax.slice_in_dim(lax.concatenate([values] * repeats, 0), 0, x.size)
    return lax.reshape(IndexUpdate(ravel(x))[places].set(values, mode="drop"), x.shape)


def fill_diagonal(
    a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """``a`` with its main diagonal set; needs ``inplace=False``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 1.0, inplace=False)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    if inplace:
        raise NotImplementedError(
            "fill_diagonal: arrays are immutable, so a new one is made. Say so with inplace=False."
        )
    if wrap:
        raise NotImplementedError("fill_diagonal: wrap=True is not available; leave it out.")
    x = as_operand("fill_diagonal", a)
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ValueError(
            f"fill_diagonal takes a matrix, or axes of one size, got {x.aval.str_short()}."
        )
    count = min(x.shape)
    steps = np.arange(count, dtype=np.int32)
    values = ravel(as_operand("fill_diagonal", val))
    if values.size > 1:
        # Repeated up to the number of elements.
        repeats = -(-count // values.size)
        values = lax.slice_in_dim(lax.concatenate([values] * repeats, 0), 0, count)
    return IndexUpdate(x)[(steps,) * x.ndim].set(values)
