"""A function applied to each slice of arrays: ``map``, a ``scan`` without a carry, of single slices or of blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import as_array
from plugjax.extend.transforms import vmap
from plugjax.lax.control_flow.scan import leading_size, scan
from plugjax.lax.joining import concatenate
from plugjax.lax.shape import reshape
from plugjax.lax.slicing import slice_in_dim


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply ``f`` to each slice of ``xs`` along the leading axis, one after the other, and stack the results.

    Args:
        f: function of a slice.
        xs: pytree of arrays ``[length, ...]``.
        batch_size: number of slices that are computed at once by ``vmap``; 0 for all. The remainder is a smaller block.

    Returns:
        Pytree of arrays ``[length, ...]``.

    Raises:
        ValueError: leading axes differ in size, or there are none.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.map(lambda x: x * x, jnp.arange(3))
        Array([0, 1, 4], dtype=int32)
    """
    if batch_size is None:
        _, ys = scan(lambda _, x: ((), f(x)), (), xs)
        return ys
    leaves, tree = pytree.flatten(xs)
    values = [as_array(x, "map") for x in leaves]
    length = leading_size(values, None, xs)
    blocks, rest = divmod(length, batch_size) if batch_size else (0, length)
    parts = []
    if blocks:
        head = [
            reshape(
                slice_in_dim(x, 0, blocks * batch_size), (blocks, batch_size, *x.aval.shape[1:])
            )
            for x in values
        ]
        _, ys = scan(lambda _, x: ((), vmap(f)(x)), (), pytree.unflatten(tree, head))
        parts.append(
            pytree.tree_map(lambda y: reshape(y, (blocks * batch_size, *y.aval.shape[2:])), ys)
        )
    if rest or not blocks:
        tail = [slice_in_dim(x, blocks * batch_size, length) for x in values]
        parts.append(vmap(f)(pytree.unflatten(tree, tail)))
    if len(parts) == 1:
        return parts[0]
    return pytree.tree_map(lambda a, b: concatenate([a, b], 0), *parts)
