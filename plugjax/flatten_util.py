"""Pytrees as vectors: the names of ``jax.flatten_util``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.core.array import aval_of
from plugjax.core.pytree import flatten, unflatten
from plugjax.extend.transforms import publish


class _Unravel:
    """From a vector to the tree.

    Equal structures, shapes and dtypes compare equal, so that it can be a static argument.
    """

    def __init__(self, treedef: Any, shapes: Any, dtypes: Any, dtype: Any) -> None:
        self._key = (treedef, shapes, dtypes, dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unravel) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __call__(self, flat: Any) -> Any:
        treedef, shapes, dtypes, dtype = self._key
        vector = jnp.asarray(flat)
        total = sum(math.prod(s) for s in shapes)
        if vector.shape != (total,):
            raise ValueError(
                f"unravel needs a vector of shape {(total,)}, got shape {vector.shape}."
            )
        if dtype is not None and vector.dtype != dtype:
            raise TypeError(f"unravel needs a vector of dtype {dtype}, got {vector.dtype}.")
        leaves, start = [], 0
        for shape, own in zip(shapes, dtypes or (None,) * len(shapes), strict=True):
            size = math.prod(shape)
            leaf = lax.reshape(lax.slice(vector, (start,), (start + size,)), shape)
            if own is not None and leaf.dtype != own:
                # A complex vector gives real leaves without a warning.
                leaf = lax.convert_element_type_p.bind(leaf, new_dtype=own, weak_type=False)
            leaves.append(leaf)
            start += size
        return unflatten(treedef, leaves)


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All leaves of a tree in one vector, and the inverse function.

    Args:
        pytree: of arrays and scalars.

    Returns:
        A vector of the dtype that the leaves promote to (float32 if there are none), and the function from such vectors
        to trees. If all leaves have one dtype, it takes vectors of any dtype.

    Example:
        >>> import plugjax.numpy as jnp
        >>> flat, unravel = ravel_pytree({"a": jnp.ones((2, 1)), "b": 3.0})
        >>> flat
        Array([1., 1., 3.], dtype=float32)
        >>> unravel(flat)["b"]
        Array(3., dtype=float32)
    """
    leaves, treedef = flatten(pytree)
    shapes = tuple(aval_of(x).shape for x in leaves)
    if not leaves:
        return lax.full((0,), 0, "float32"), _Unravel(treedef, (), None, None)
    own = tuple(aval_of(x).dtype for x in leaves)
    dtype = jnp.result_type(*own)
    same = all(d == dtype for d in own)
    parts = [jnp.ravel(x) for x in leaves]
    if not same:
        parts = [lax.convert_element_type(x, dtype) for x in parts]
    unravel = _Unravel(treedef, shapes, None if same else own, None if same else dtype)
    return lax.concatenate(parts, 0), unravel


__all__ = ["ravel_pytree"]

publish(globals(), __all__)
