"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.nn.normalization import logsumexp, softmax
from plugjax.numpy.creation import asarray
from plugjax.numpy.einsum import einsum
from plugjax.numpy.promotion import (
    ArrayLike,
    Operand,
    as_operand,
    as_operands,
    broadcast_to_shape,
    converted,
    pick,
    scalar,
)

__all__ = ["dot_product_attention"]


def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Values averaged with weights ``softmax(scale * query @ key + bias)``.

    Shapes:
        query: ``[batch, targets, heads, size]``; the batch axis may be missing.
        key, value: ``[batch, sources, kv_heads, size]``, where ``kv_heads`` divides ``heads``.
        bias, mask: broadcast to ``[batch, heads, targets, sources]``.
        query_seq_lengths, key_value_seq_lengths: ``[batch]``, integer -> ``[batch, targets, heads, size]``.

    Args:
        query: queries.
        key: keys.
        value: values.
        bias: added to the logits.
        mask: bool, true where a target attends to a source.
        scale: factor of the logits; ``size ** -0.5`` by default.
        is_causal: whether targets attend to no later source.
        query_seq_lengths: number of valid targets.
        key_value_seq_lengths: number of valid sources.
        local_window_size: numbers of sources before and after its own position to which a target attends.
        implementation: ``"xla"`` or ``None``.
        return_residual: whether to return the logarithms of the sums of the exponentials, ``[batch, targets, heads]``,
            too; no derivative goes through them.

    Raises:
        ValueError: shapes do not fit, or an unknown implementation.

    Example:
        >>> from plugjax import nn
        >>> import plugjax.numpy as jnp
        >>> x = jnp.array([[1.0, 0.0], [0.0, 1.0]]).reshape(1, 2, 1, 2)
        >>> nn.dot_product_attention(x, x, x)[0, :, 0].round(3)
        Array([[0.67, 0.33],
               [0.33, 0.67]], dtype=float32)
    """
    if implementation not in (None, "xla"):
        raise ValueError(f"Unsupported implementation option: {implementation}; use None or 'xla'.")
    q, k, v = as_operands("dot_product_attention", query, key, value)
    shape = q.shape
    if q.ndim == 3:
        q, k, v = (lax.expand_dims(x, (0,)) for x in (q, k, v))
    _check(q, k, v)
    batch, targets, heads, size = q.shape
    sources, groups = k.shape[1], k.shape[2]
    if groups != heads:
        k, v = (_spread_heads(x, heads // groups) for x in (k, v))
    _check_lengths(query_seq_lengths=query_seq_lengths, key_value_seq_lengths=key_value_seq_lengths)
    scale = 1 / math.sqrt(size) if scale is None else scale
    accumulate = dtypes.FLOAT64 if q.dtype == dtypes.FLOAT64 else dtypes.FLOAT32
    logits = einsum("BTNH,BSNH->BNTS", q, k, preferred_element_type=accumulate)
    logits = lax.mul(logits, scalar(scale, logits))
    full = (batch, heads, targets, sources)
    if bias is not None:
        added = converted(_to_rank(asarray(bias), 4), logits.dtype)
        logits = lax.add(logits, broadcast_to_shape("dot_product_attention", added, full))
    allowed = _allowed(
        full, mask, is_causal, query_seq_lengths, key_value_seq_lengths, local_window_size
    )
    if allowed is not None:
        # Large, not infinite: a target without sources gets equal weights, not nan.
        logits = pick(allowed, logits, scalar(-0.7 * float(np.finfo(logits.dtype).max), logits))
    weights = converted(softmax(logits, -1), k.dtype)
    found = einsum("BNTS,BSNH->BTNH", weights, v)
    sums = converted(logsumexp(logits, -1), k.dtype) if return_residual else None
    if query_seq_lengths is not None:
        lengths = as_operand("dot_product_attention", query_seq_lengths)
        positions = lax.broadcasted_iota(np.int32, found.shape, 1)
        valid = lax.lt(
            positions, lax.broadcast_in_dim(converted(lengths, dtypes.INT32), found.shape, (0,))
        )
        found = pick(valid, found, scalar(0, found))
    found = lax.reshape(found, (*shape[:-1], v.shape[-1]))
    if sums is None:
        return found
    residual = lax.reshape(lax.transpose(sums, (0, 2, 1)), shape[:-1])
    return found, lax.stop_gradient(residual)


def _check_lengths(**lengths: Any) -> None:
    for name, found in lengths.items():
        if found is not None and np.ndim(found) != 1:
            raise ValueError(
                f"dot_product_attention: {name} is a vector, one length for each batch, got rank {np.ndim(found)}."
            )


def _check(q: Operand, k: Operand, v: Operand) -> None:
    if q.ndim != 4 or k.ndim != 4 or k.shape != v.shape:
        raise ValueError(
            f"dot_product_attention: shapes of query {q.shape}, key {k.shape} and value {v.shape} do not fit."
        )
    if not q.dtype == k.dtype == v.dtype:
        names = ", ".join(x.dtype.name for x in (q, k, v))
        raise ValueError(
            f"dot_product_attention: query, key and value need one dtype, got {names}."
        )
    if q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise ValueError(
            f"dot_product_attention: batch and size of query {q.shape} and key {k.shape} differ."
        )
    if q.shape[2] % k.shape[2]:
        raise ValueError(
            f"dot_product_attention: {q.shape[2]} heads of the query are no multiple of {k.shape[2]} heads of the key."
        )


def _spread_heads(x: Operand, times: int) -> Operand:
    b, s, n, h = x.shape
    return lax.reshape(
        lax.broadcast_in_dim(x, (b, s, n, times, h), (0, 1, 2, 4)), (b, s, n * times, h)
    )


def _to_rank(x: Operand, rank: int) -> Operand:
    return lax.expand_dims(x, tuple(range(rank - x.ndim))) if x.ndim < rank else x


def _allowed(
    full: tuple[int, ...],
    mask: ArrayLike | None,
    is_causal: bool,
    query_lengths: ArrayLike | None,
    key_lengths: ArrayLike | None,
    window: Any,
) -> Operand | None:
    """Mask of the pairs of target and source that attend; ``None`` if all do."""
    target, source = (lax.broadcasted_iota(np.int32, full, axis) for axis in (2, 3))
    conditions = []
    if mask is not None:
        given = asarray(mask)
        if given.dtype != dtypes.BOOL:
            raise ValueError(
                f"dot_product_attention: mask must be bool, got {given.aval.str_short()}."
            )
        conditions.append(broadcast_to_shape("dot_product_attention", _to_rank(given, 4), full))
    if is_causal:
        conditions.append(lax.ge(target, source))
    if window is not None:
        before, after = (window, window) if isinstance(window, int) else window
        conditions.append(lax.le(lax.sub(target, source), scalar(before, target)))
        conditions.append(lax.le(lax.sub(source, target), scalar(after, target)))
    for positions, lengths in ((target, query_lengths), (source, key_lengths)):
        if lengths is not None:
            limit = converted(as_operand("dot_product_attention", lengths), dtypes.INT32)
            conditions.append(lax.lt(positions, lax.broadcast_in_dim(limit, full, (0,))))
    if not conditions:
        return None
    found = conditions[0]
    for condition in conditions[1:]:
        found = lax.bitwise_and(found, condition)
    return found
