"""Products of vectors, matrices and tensors, as the array API names them; and parts of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from plugjax.extend.core import Array
from plugjax.extend.dtypes import DTypeLike
from plugjax.extend.meshes import ShardingLike
from plugjax.lax.dot import PrecisionLike
from plugjax.lax.placement import freely, laid_out
from plugjax.numpy import indexing, linear_algebra, manipulation
from plugjax.numpy.einsum import einsum
from plugjax.numpy.promotion import ArrayLike, as_operand, as_operands


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Vector product of vectors with 3 components along an axis; the other axes broadcast.

    Raises:
        ValueError: another number of components.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.cross(jnp.array([1.0, 0.0, 0.0]), jnp.array([0.0, 1.0, 0.0]))
        Array([0., 0., 1.], dtype=float32)
    """
    x, y = as_operands("linalg.cross", x1, x2)
    if x.shape[axis] != 3 or y.shape[axis] != 3:
        raise ValueError(
            "linalg.cross takes vectors with 3 components, got "
            f"x1.shape[axis]={x.shape[axis]} and x2.shape[axis]={y.shape[axis]}"
        )
    return linear_algebra.cross(x, y, axis=axis)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of all pairs of elements of two vectors, ``[m]`` and ``[n]`` -> ``[m, n]``.

    Raises:
        ValueError: not vectors.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4]))
        Array([[3, 4],
               [6, 8]], dtype=int32)
    """
    x, y = as_operands("linalg.outer", x1, x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(
            f"linalg.outer takes two vectors, got x1.ndim={x.ndim} and x2.ndim={y.ndim}"
        )
    result: Array = x[:, None] * y[None, :]
    return result


def matrix_transpose(x: ArrayLike, /) -> Array:
    """The last two axes exchanged.

    Raises:
        ValueError: less than two axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.matrix_transpose(jnp.array([[1, 2], [3, 4]]))
        Array([[1, 3],
               [2, 4]], dtype=int32)
    """
    return manipulation.matrix_transpose(as_operand("linalg.matrix_transpose", x))


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Dot products along an axis, the first operand conjugated; see :func:`plugjax.numpy.vecdot`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.vecdot(jnp.array([1, 2]), jnp.array([3, 4]))
        Array(11, dtype=int32)
    """
    return linear_algebra.vecdot(
        x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type
    )


def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Matrix product; see :func:`plugjax.numpy.matmul`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.matmul(jnp.array([[1, 2]]), jnp.array([[3], [4]]))
        Array([[11]], dtype=int32)
    """
    return linear_algebra.matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: int | Sequence[Sequence[int]] = 2,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Sum over pairs of axes; see :func:`plugjax.numpy.tensordot`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), axes=1)
        Array([[3., 3.],
               [3., 3.]], dtype=float32)
    """
    if out_sharding is not None:
        return laid_out(
            "tensordot",
            freely(
                tensordot,
                x1,
                x2,
                axes=axes,
                precision=precision,
                preferred_element_type=preferred_element_type,
            ),
            out_sharding,
        )
    return linear_algebra.tensordot(
        x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type
    )


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Diagonals of the matrices in the last two axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.diagonal(jnp.array([[1, 2], [3, 4]]))
        Array([1, 4], dtype=int32)
    """
    return indexing.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Sums of the diagonals of the matrices in the last two axes.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.trace(jnp.array([[1, 2], [3, 4]]))
        Array(5, dtype=int32)
    """
    return linear_algebra.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def multi_dot(arrays: Sequence[ArrayLike], *, precision: PrecisionLike = None) -> Array:
    """Product of matrices, in the order that costs least; the first and the last may be vectors.

    Raises:
        ValueError: less than two arrays, or shapes that do not fit.

    Example:
        >>> import plugjax.numpy as jnp
        >>> jnp.linalg.multi_dot([jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4)])
        Array([12., 12.], dtype=float32)
    """
    operands = as_operands("linalg.multi_dot", *arrays)
    shapes = [x.shape for x in operands]
    if len(operands) < 2:
        raise ValueError(
            f"linalg.multi_dot: a product has two factors or more, got {len(operands)}"
        )
    ends = all(len(shape) in (1, 2) for shape in (shapes[0], shapes[-1]))
    if not ends or any(len(shape) != 2 for shape in shapes[1:-1]):
        raise ValueError(
            "linalg.multi_dot takes matrices; only the first and the last may be vectors instead. "
            f"Got shapes {shapes}"
        )
    if any(x[-1] != y[0] for x, y in pairwise(shapes)):
        raise ValueError(
            f"linalg.multi_dot: neighbours do not fit, columns on the left and rows on the right: shapes {shapes}"
        )
    axes = [(i, i + 1) for i in range(len(operands))]
    named: list[Any] = [list(pair) for pair in axes]
    if len(shapes[0]) == 1:
        named[0] = named[0][1:]
    if len(shapes[-1]) == 1:
        named[-1] = named[-1][:1]
    pairs = [item for x, own in zip(operands, named, strict=True) for item in (x, own)]
    return einsum(*pairs, optimize="auto", precision=precision)
