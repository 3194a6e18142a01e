"""Choices: indices drawn with given probabilities, and elements drawn from arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend import dtypes
from plugjax.extend.core import Array
from plugjax.extend.meshes import ShardingLike
from plugjax.lax.axes import ShapeLike
from plugjax.lax.placement import laid_out
from plugjax.numpy.arithmetic import multiply
from plugjax.numpy.cumulative import cumsum
from plugjax.numpy.manipulation import canonical_axis
from plugjax.numpy.promotion import ArrayLike, as_operand, promote_shapes, scalar, to_inexact
from plugjax.numpy.shape_info import ndim
from plugjax.numpy.sorting_searching import searchsorted
from plugjax.random.bits import as_shape, float_dtype, permutation, randint, result_shape, uniform
from plugjax.random.distributions import gumbel
from plugjax.random.keys import single_key

__all__ = ["categorical", "choice"]


def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: ShapeLike | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Indices drawn with probabilities ``softmax(logits)`` along an axis.

    Shapes:
        logits: ``[..., n, ...]`` -> ``shape``, which ends with ``[...]``; that itself by default.

    Units:
        logits: nats, up to a constant.

    Example:
        >>> from plugjax import numpy as jnp, random
        >>> random.categorical(random.key(0), jnp.array([-jnp.inf, 0.0]), shape=(2,))
        Array([1, 1], dtype=int32)
    """
    if out_sharding is not None:
        return laid_out(
            "categorical",
            categorical(key=key, logits=logits, axis=axis, shape=shape, replace=replace, mode=mode),
            out_sharding,
        )
    k = single_key("categorical", key)
    scores = as_operand("categorical", logits)
    axis = canonical_axis(axis, scores.ndim) - scores.ndim
    float_dtype("categorical", scores.dtype)
    batch = tuple(n for i, n in enumerate(scores.shape) if i != axis + scores.ndim)
    sizes = batch if shape is None else result_shape("categorical", shape, np.empty(batch))
    lead = sizes[: len(sizes) - len(batch)]
    index = dtypes.canonicalize(int)
    if replace:
        noise = gumbel(k, (*lead, *scores.shape), scores.dtype, mode)
        total = lax.add(noise, promote_shapes(scores, noise.ndim))
        return lax.argmax(total, axis + total.ndim, index)
    count = math.prod(lead)
    if count > scores.shape[axis]:
        raise ValueError(
            f"categorical without replacement: {count} draws from {scores.shape[axis]} categories. Draw fewer."
        )
    total = lax.add(gumbel(k, scores.shape, scores.dtype, mode), scores)
    chosen = (-total).argsort(axis)
    chosen = lax.slice_in_dim(chosen, 0, count, axis=axis + total.ndim)
    chosen = lax.transpose(
        chosen, (axis + total.ndim, *(i for i in range(total.ndim) if i != axis + total.ndim))
    )
    return lax.reshape(chosen, sizes)


def choice(
    key: ArrayLike,
    a: ArrayLike,
    shape: ShapeLike = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Elements drawn along an axis of ``a``; for an integer, those of ``arange``.

    Args:
        key: a key.
        a: array or integer.
        shape: shape of the drawn part of the result.
        replace: whether an element may be drawn twice.
        p: probabilities of the elements; equal ones by default.
        axis: the axis of ``a``.
        mode: as of :func:`gumbel`, for draws without replacement.

    Raises:
        ValueError: more draws than elements without replacement, or ``p`` of another size.

    Example:
        >>> from plugjax import random
        >>> import plugjax.numpy as jnp
        >>> random.choice(random.key(0), 5, (3,), replace=False)
        Array([0, 1, 4], dtype=int32)
    """
    k = single_key("choice", key)
    sizes = as_shape("choice", shape)
    whole = not ndim(a)
    values: Any = a if whole else as_operand("choice", a)
    if not whole:
        axis = canonical_axis(axis, values.ndim)
    count = int(values) if whole else values.shape[axis]
    draws = math.prod(sizes)
    if count <= 0 and draws:
        raise ValueError("choice: there is nothing to draw from. Give an a that is not empty.")
    if not draws:
        return lax.full(sizes, 0, dtypes.canonicalize(int) if whole else values.dtype)
    if not replace and draws > count:
        raise ValueError(
            f"choice: Cannot take a larger sample (size {draws}) than there are elements (size {count}) without replacement. Draw fewer."
        )

    def chosen(index: Array) -> Array:
        return index if whole else values.take(index, axis, mode="clip")

    if p is None:
        if replace:
            return chosen(randint(k, sizes, 0, count))
        if whole:
            # The axis of arange; no other draw from an integer looks at it.
            axis = canonical_axis(axis, 1)
        order = permutation(k, count if whole else values, axis)
        drawn = lax.slice_in_dim(order, 0, draws, axis=axis)
        return lax.reshape(drawn, (*drawn.shape[:axis], *sizes, *drawn.shape[axis + 1 :]))
    chances = to_inexact("choice", p)
    if chances.shape != (count,):
        raise ValueError(
            f"choice: p needs to be None or a vector of a probability for each element, got shape {chances.shape} for {count}."
        )
    if replace:
        total = cumsum(chances)
        u = uniform(k, sizes, total.dtype)
        r = multiply(total[-1], lax.sub(scalar(1, u), u))
        return chosen(searchsorted(total, r))
    scores = lax.add(gumbel(k, (count,), chances.dtype, mode), lax.log(chances))
    best = lax.slice_in_dim((-scores).argsort(), 0, draws)
    return chosen(lax.reshape(best, sizes))
