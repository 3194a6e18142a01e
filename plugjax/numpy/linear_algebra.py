"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Array
from plugjax.extend.dtypes import DTypeLike
from plugjax.extend.execution import eager_program
from plugjax.extend.meshes import ShardingLike
from plugjax.lax.axes import is_symbolic
from plugjax.lax.dot import PrecisionLike
from plugjax.lax.placement import freely, laid_out
from plugjax.lax.promotion import join
from plugjax.numpy.indexing import diagonal
from plugjax.numpy.manipulation import canonical_axis, moveaxis, ravel
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operand,
    as_operands,
    broadcast_shape,
    broadcast_to_shape,
    canonical_dtype,
    converted,
    join_dtypes,
    reject_out,
    same_dtype,
)
from plugjax.numpy.reductions import sum as sum_

__all__ = [
    "cross", "dot", "inner", "kron", "matmul", "matvec", "outer", "tensordot", "trace", "vdot", "vecdot", "vecmat",
]  # fmt: skip


def product_operands(
    who: str, preferred: DTypeLike | None, *args: ArrayLike
) -> tuple[list[Operand], Any, bool]:
    """Operands of one dtype, the dtype to accumulate in, and whether the result is weak."""
    operands = as_operands(who, *args)
    if preferred is None:
        dtype, weak = join_dtypes(*operands)
        return [converted(x, dtype) for x in operands], dtype, weak
    # An explicit accumulation dtype settles the conversion: strict promotion refuses nothing.
    dtype = join((x.dtype, x.weak_type) for x in operands)
    return [converted(x, dtype) for x in operands], canonical_dtype(who, preferred), False


def _product(
    x: Operand, y: Operand, numbers: Any, precision: Any, wanted: Any, weak: bool
) -> Array:
    result = lax.dot_general(x, y, numbers, precision=precision, preferred_element_type=wanted)
    if result.weak_type != weak:
        return lax.convert_element_type_p.bind(result, new_dtype=result.dtype, weak_type=weak)
    return result


@eager_program(2)
def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Product summed over the last axis of ``a`` with the last but one of ``b``; a plain product if one is a scalar.

    Shapes:
        a: ``[..., n]``; b: ``[n]`` or ``[..., n, m]`` -> axes of ``a``, then of ``b``, without those of size n.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.dot(jnp.arange(3.0), jnp.arange(3.0))
        Array(5., dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "dot",
            freely(
                dot, a=a, b=b, precision=precision, preferred_element_type=preferred_element_type
            ),
            out_sharding,
        )
    (x, y), wanted, weak = product_operands("dot", preferred_element_type, a, b)
    if not x.ndim or not y.ndim:
        numbers: Any = (((), ()), ((), ()))
    else:
        numbers = (((x.ndim - 1,), (max(0, y.ndim - 2),)), ((), ()))
    return _product(x, y, numbers, precision, wanted, weak)


@eager_program(2)
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Matrix product; leading axes are batches, and broadcast.

    Shapes:
        a: ``[n]`` or ``[..., m, n]``.
        b: ``[n]`` or ``[..., n, k]`` -> ``[..., m, k]``, without the axes that vectors lack.

    Raises:
        ValueError: a scalar.
        TypeError: shapes do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.matmul(jnp.eye(2), jnp.arange(2.0))
        Array([0., 1.], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "matmul",
            freely(
                matmul, a=a, b=b, precision=precision, preferred_element_type=preferred_element_type
            ),
            out_sharding,
        )
    if (
        type(a) is Array
        and type(b) is Array
        and a.aval.dtype == b.aval.dtype
        and preferred_element_type is None
        and not a.aval.weak_type
        and not b.aval.weak_type
    ):
        x, y, wanted, weak = a, b, a.aval.dtype, False
    else:
        (x, y), wanted, weak = product_operands("matmul", preferred_element_type, a, b)
    x_rank, y_rank = x.ndim, y.ndim
    if not x_rank or not y_rank:
        which = 0 if not x_rank else 1
        raise ValueError(
            f"matmul input operand {which} must have ndim at least 1, and it is a scalar; scale with * instead."
        )
    if x_rank <= 2 and y_rank <= 2:
        return _product(
            x, y, (((x_rank - 1,), (max(0, y_rank - 2),)), ((), ())), precision, wanted, weak
        )
    if y_rank == 1:
        return _product(x, y, (((x_rank - 1,), (0,)), ((), ())), precision, wanted, weak)
    if x_rank == 1:
        return _product(x, y, (((0,), (y_rank - 2,)), ((), ())), precision, wanted, weak)
    return _batched(x, y, precision, wanted, weak)


def _batched(x: Operand, y: Operand, precision: Any, wanted: Any, weak: bool) -> Array:
    """Products of matrices with leading axes.

    Stretched axes of size 1 are squeezed before the product and restored after it.
    """
    rank = max(x.ndim, y.ndim) - 2
    batch = broadcast_shape("matmul", x.shape[:-2], y.shape[:-2])
    x_batch, y_batch = ((1,) * (rank - v.ndim + 2) + v.shape[:-2] for v in (x, y))
    shared = [i for i in range(rank) if x_batch[i] == y_batch[i] == batch[i]]
    x_own = [i for i in range(rank) if i not in shared and x_batch[i] != 1]
    y_own = [i for i in range(rank) if i not in shared and y_batch[i] != 1]

    def squeezed(value: Operand, sizes: tuple[int, ...], own: list[int]) -> Operand:
        kept = sorted(shared + own)
        target = (*(sizes[i] for i in kept), *value.shape[-2:])
        return lax.reshape(value, target) if value.shape != target else value

    x, y = squeezed(x, x_batch, x_own), squeezed(y, y_batch, y_own)
    x_axes, y_axes = sorted(shared + x_own), sorted(shared + y_own)
    numbers = (
        ((x.ndim - 1,), (y.ndim - 2,)),
        (tuple(x_axes.index(i) for i in shared), tuple(y_axes.index(i) for i in shared)),
    )
    found = _product(x, y, numbers, precision, wanted, weak)
    order = {axis: k for k, axis in enumerate([*shared, *x_own])}
    row = len(order)
    order |= {axis: row + 1 + k for k, axis in enumerate(y_own)}
    axes = [order[i] for i in range(rank) if i in order]
    found = lax.transpose(found, (*axes, row, found.ndim - 1))
    target = (*batch, x.shape[-2], y.shape[-1])
    return found if found.shape == target else lax.reshape(found, target)


def _check_contracted(who: str, size: tuple[int, ...], other: tuple[int, ...]) -> None:
    if size != other:
        raise ValueError(
            f"{who}: the contracted axes have sizes {size} and {other}; they must be one axis each, of the same size."
        )


def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of matrices and vectors, ``[..., m, n]`` and ``[..., n]`` -> ``[..., m]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.matvec(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
        Array([3, 7], dtype=int32)
    """
    matrix, vector = as_operands("matvec", x1, x2)
    if matrix.ndim < 2 or vector.ndim < 1:
        raise ValueError(
            f"matvec needs a matrix and a vector, got shapes {matrix.shape} and {vector.shape}."
        )
    _check_contracted("matvec", matrix.shape[-1:], vector.shape[-1:])
    return lax.squeeze(matmul(matrix, lax.expand_dims(vector, (vector.ndim,))), (-1,))


def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of conjugated vectors and matrices, ``[..., n]`` and ``[..., n, k]`` -> ``[..., k]``.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.vecmat(jnp.array([1, 1]), jnp.array([[1, 2], [3, 4]]))
        Array([4, 6], dtype=int32)
    """
    vector, matrix = as_operands("vecmat", x1, x2)
    if vector.ndim < 1 or matrix.ndim < 2:
        raise ValueError(
            f"vecmat needs a vector and a matrix, got shapes {vector.shape} and {matrix.shape}."
        )
    _check_contracted("vecmat", vector.shape[-1:], matrix.shape[-2:-1])
    return lax.squeeze(
        matmul(lax.expand_dims(_conjugated(vector), (vector.ndim - 1,)), matrix), (-2,)
    )


def _conjugated(x: Operand) -> Operand:
    return lax.conj(x) if x.dtype.kind == "c" else x


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Dot products along an axis, the first operand conjugated; the other axes broadcast.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.vecdot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
        Array([3, 7], dtype=int32)
    """
    (x, y), wanted, weak = product_operands("vecdot", preferred_element_type, x1, x2)
    if not x.ndim or not y.ndim:
        raise ValueError(f"vecdot: a scalar is no vector, got shapes {x.shape} and {y.shape}")
    axis = operator.index(axis)
    x, y = moveaxis(x, axis, -1), moveaxis(y, axis, -1)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"vecdot: the vectors differ in length, got shapes {x.shape} and {y.shape}"
        )
    shape = broadcast_shape("vecdot", x.shape, y.shape)
    x, y = (broadcast_to_shape("vecdot", v, shape) for v in (_conjugated(x), y))
    batch = tuple(range(len(shape) - 1))
    return _product(x, y, (((len(batch),), (len(batch),)), (batch, batch)), precision, wanted, weak)


@eager_program(2)
def vdot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Dot product of the flattened arrays, the first conjugated.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.vdot(jnp.array([1j]), jnp.array([1j]))
        Array(1.+0.j, dtype=complex64)
    """
    x, y = as_operands("vdot", a, b)
    return dot(
        ravel(_conjugated(x)),
        ravel(y),
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


@eager_program(2)
def inner(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Sum over the last axis of both.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.inner(jnp.array([1, 2]), jnp.array([3, 4]))
        Array(11, dtype=int32)
    """
    x, y = as_operands("inner", a, b)
    axes = ((-1,), (-1,)) if x.ndim and y.ndim else ((), ())
    return tensordot(x, y, axes, precision=precision, preferred_element_type=preferred_element_type)


@eager_program(2)
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """Products of all pairs of elements of two flattened arrays.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4]))
        Array([[3, 4],
               [6, 8]], dtype=int32)
    """
    reject_out("outer", out)
    x, y = as_operands("outer", a, b)
    return lax.expand_dims(ravel(x), (1,)) * lax.expand_dims(ravel(y), (0,))


def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Kronecker product.

    Raises:
        TypeError: bools, which have no product.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.kron(jnp.array([1, 10]), jnp.array([1, 2]))
        Array([ 1,  2, 10, 20], dtype=int32)
    """
    x, y = same_dtype("kron", a, b)
    rank = max(x.ndim, y.ndim)
    x, y = (lax.expand_dims(v, tuple(range(rank - v.ndim))) for v in (x, y))
    shape = tuple(m * n for m, n in zip(x.shape, y.shape, strict=True))
    x = lax.expand_dims(x, tuple(range(1, 2 * rank, 2)))
    y = lax.expand_dims(y, tuple(range(0, 2 * rank, 2)))
    return lax.reshape(lax.mul(x, y), shape)


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Sum over pairs of axes: the last of ``a`` with the first of ``b``, or the given ones.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), 1)
        Array([[3., 3.],
               [3., 3.]], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "tensordot",
            freely(
                tensordot,
                a=a,
                b=b,
                axes=axes,
                precision=precision,
                preferred_element_type=preferred_element_type,
            ),
            out_sharding,
        )
    (x, y), wanted, weak = product_operands("tensordot", preferred_element_type, a, b)
    if isinstance(axes, (tuple, list)):
        if len(axes) != 2:
            raise TypeError(f"tensordot: axes is a number or a pair, got {axes!r}")
        first, second = (v if isinstance(v, (tuple, list)) else (v,) for v in axes)
        x_axes = tuple(canonical_axis(i, x.ndim) for i in first)
        y_axes = tuple(canonical_axis(i, y.ndim) for i in second)
        if len(x_axes) != len(y_axes):
            raise TypeError(f"tensordot: axes must have equal numbers, got {axes!r}")
    else:
        if isinstance(axes, (bool, np.generic, np.ndarray, Array)):
            raise TypeError(f"tensordot: axes is a Python number or a pair, got {axes!r}")
        count = operator.index(axes)  # type: ignore[arg-type]  # sequences were dealt with
        if count > min(x.ndim, y.ndim):
            raise TypeError(
                f"tensordot: shapes {x.shape} and {y.shape} do not both have {count} axes to sum over."
            )
        x_axes, y_axes = tuple(range(x.ndim - count, x.ndim)), tuple(range(count))
    return _product(x, y, ((x_axes, y_axes), ((), ())), precision, wanted, weak)


def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: None = None,
) -> Array:
    """Sum of a diagonal.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.trace(jnp.eye(3))
        Array(3., dtype=float32)
    """
    reject_out("trace", out)
    x = as_operand("trace", a)
    if isinstance(offset, (bool, float)):
        raise ValueError(f"trace: offset numbers a diagonal: it is an integer, got {offset}.")
    first, second = canonical_axis(axis1, x.ndim), canonical_axis(axis2, x.ndim)
    if first == second:
        raise ValueError(
            f"trace: axis1={axis1} and axis2={axis2} are one axis of {x.aval.str_short()}; give two."
        )
    rows, columns = x.shape[first], x.shape[second]
    if rows is not columns and (is_symbolic(rows) or is_symbolic(columns)):
        # The length of the diagonal is not known.
        whole = moveaxis(x, (first, second), (-2, -1))
        shape = (rows, columns)
        row, column = (lax.broadcasted_iota(np.int32, shape, i) for i in (0, 1))
        on_diagonal = lax.broadcast_in_dim(
            lax.eq(lax.add(row, np.int32(offset)), column), whole.shape, (x.ndim - 2, x.ndim - 1)
        )
        return sum_(lax.select(on_diagonal, whole, lax.full_like(whole, 0)), (-2, -1), dtype)
    return sum_(diagonal(x, offset, first, second), -1, dtype)


def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """Vector product of vectors with 3 components; of vectors with 2, the third component of it.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
        Array([0, 0, 1], dtype=int32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = moveaxis(as_operand("cross", a), axisa, -1), moveaxis(as_operand("cross", b), axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError("cross takes vectors with 2 or 3 components.")
    if x.shape[-1] == y.shape[-1] == 2:
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]

    def widened(v: Array) -> Array:
        return (
            v
            if v.shape[-1] == 3
            else lax.pad(v, v.dtype.type(0), [(0, 0, 0)] * (v.ndim - 1) + [(0, 1, 0)])
        )

    x, y = widened(x), widened(y)
    turn = [lax.index_in_dim(v, i, v.ndim - 1, keepdims=False) for v in (x, y) for i in range(3)]
    x0, x1, x2, y0, y1, y2 = turn
    parts = [x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0]
    return moveaxis(
        lax.concatenate([lax.expand_dims(p, (p.ndim,)) for p in parts], parts[0].ndim), -1, axisc
    )
