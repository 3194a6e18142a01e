"""Reductions of segments: the names of ``jax.ops``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import plugjax.numpy as jnp
from plugjax.core import dtypes
from plugjax.core.errors import ConcretizationTypeError, DtypeError
from plugjax.core.primitive import Tracer
from plugjax.extend.core import Array, ArrayLike
from plugjax.extend.meshes import ShardingLike
from plugjax.extend.transforms import publish
from plugjax.lax.dimension_numbers import GatherScatterMode
from plugjax.lax.placement import laid_out
from plugjax.numpy.promotion import check_arraylike, check_numbers


def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Sums of the rows that belong to each segment.

    Shapes:
        data: ``[n, ...]``; segment_ids: ``[n]`` -> ``[num_segments, ...]``.

    Args:
        data: the rows.
        segment_ids: integers: the segment of each row. Rows with ids outside of ``0 <= id < num_segments`` are dropped.
        num_segments: number of segments; by default the largest id plus 1, and the ids must be concrete.
        indices_are_sorted: whether ids are known to be sorted.
        unique_indices: whether ids are known to be distinct.
        bucket_size: number of rows per bucket; buckets are summed first, for accuracy.
        mode: treatment of ids out of bounds; see ``plugjax.lax.GatherScatterMode``.
        out_sharding: how the result is spread: a sharding, or a partition spec of the mesh in force.

    Raises:
        ValueError: ``num_segments`` is negative.
        ConcretizationTypeError: ``num_segments`` is not known while tracing.

    Example:
        >>> import plugjax.numpy as jnp
        >>> segment_sum(jnp.arange(5), jnp.array([0, 0, 1, 1, 2]))
        Array([1, 5, 4], dtype=int32)
    """
    options = _options(indices_are_sorted, unique_indices, mode)
    found = _segments("add", data, segment_ids, num_segments, bucket_size, options, jnp.sum)
    return found if out_sharding is None else laid_out("segment_add", found, out_sharding)


def segment_prod(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Products of the rows of each segment; arguments as of :func:`segment_sum`. Empty segments give 1.

    Example:
        >>> from plugjax import ops
        >>> import plugjax.numpy as jnp
        >>> ops.segment_prod(jnp.arange(4), jnp.array([0, 0, 1, 1]))
        Array([0, 6], dtype=int32)
    """
    options = _options(indices_are_sorted, unique_indices, mode)
    found = _segments("multiply", data, segment_ids, num_segments, bucket_size, options, jnp.prod)
    return found if out_sharding is None else laid_out("segment_multiply", found, out_sharding)


def segment_max(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Largest rows of each segment; arguments as of :func:`segment_sum`. Empty segments give the lowest value.

    Example:
        >>> from plugjax import ops
        >>> import plugjax.numpy as jnp
        >>> ops.segment_max(jnp.arange(4), jnp.array([0, 0, 1, 1]))
        Array([1, 3], dtype=int32)
    """
    options = _options(indices_are_sorted, unique_indices, mode)
    found = _segments("max", data, segment_ids, num_segments, bucket_size, options, jnp.max)
    return found if out_sharding is None else laid_out("segment_max", found, out_sharding)


def segment_min(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Smallest rows of each segment; arguments as of :func:`segment_sum`. Empty segments give the highest value.

    Example:
        >>> from plugjax import ops
        >>> import plugjax.numpy as jnp
        >>> ops.segment_min(jnp.arange(4), jnp.array([0, 0, 1, 1]))
        Array([0, 2], dtype=int32)
    """
    options = _options(indices_are_sorted, unique_indices, mode)
    found = _segments("min", data, segment_ids, num_segments, bucket_size, options, jnp.min)
    return found if out_sharding is None else laid_out("segment_min", found, out_sharding)


def _options(indices_are_sorted: bool, unique_indices: bool, mode: Any) -> dict[str, Any]:
    if not isinstance(unique_indices, bool):
        raise TypeError(f"segment: unique_indices is True or False, got {unique_indices!r}.")
    return {
        "indices_are_sorted": indices_are_sorted,
        "unique_indices": unique_indices,
        "mode": "drop" if mode is None else mode,
        "wrap_negative_indices": False,
    }


def _segments(
    method: str,
    data: Any,
    segment_ids: Any,
    num_segments: int | None,
    bucket_size: int | None,
    options: dict[str, Any],
    reduce: Callable[..., Any],
) -> Any:
    check_arraylike(f"segment_{method}", data, segment_ids)
    rows, ids = jnp.asarray(data), jnp.asarray(segment_ids)
    if num_segments is None:
        if isinstance(ids, Tracer) and ids._concrete() is None:
            raise ConcretizationTypeError(
                ids,
                f"segment ids say how many segments there are: pass num_segments to segment_{method}.",
            )
        num_segments = int(np.max(np.asarray(ids))) + 1
    count = operator.index(num_segments)
    if count < 0:
        raise ValueError(f"num_segments is a non-negative integer, got {count}.")
    if method in ("min", "max"):
        check_numbers(f"segment_{method}", rows)
    start = _identity(method, rows.dtype)
    if ids.dtype != dtypes.BOOL and not dtypes.is_integer(ids.dtype):
        raise DtypeError(f"segment_ids are integers, got {ids.dtype.name}.")
    if bucket_size is None or not count:
        out = jnp.full((count, *rows.shape[1:]), start, rows.dtype)
        if not out.size:
            return out
        return getattr(out.at[ids], method)(rows, **options)
    buckets = -(-ids.size // bucket_size)
    out = jnp.full((buckets, count, *rows.shape[1:]), start, rows.dtype)
    places = (jnp.arange(ids.shape[0]) // bucket_size, ids)
    found = getattr(out.at[places], method)(rows, **{**options, "indices_are_sorted": False})
    return reduce(found, axis=0).astype(rows.dtype)


def _identity(method: str, dtype: Any) -> Any:
    if method in ("add", "multiply"):
        return int(method == "multiply")
    if dtype == dtypes.BOOL:
        return method == "min"
    if dtypes.is_integer(dtype):
        info = jnp.iinfo(dtype)
        return dtype.type(info.min if method == "max" else info.max)
    return -np.inf if method == "max" else np.inf


__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

publish(globals(), __all__)
