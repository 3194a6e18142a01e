"""Vectors that are pytrees of arrays: sums, multiples, products and norms."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend import pytree

add = partial(pytree.tree_map, operator.add)
subtract = partial(pytree.tree_map, operator.sub)


def scaled(factor: Any, x: Any) -> Any:
    """``factor x``."""
    return pytree.tree_map(lambda leaf: factor * leaf, x)


def dot(x: Any, y: Any) -> Any:
    """``x^H y``."""
    pairs = zip(pytree.leaves(x), pytree.leaves(y), strict=True)
    return sum(jnp.vdot(a, b, precision=lax.Precision.HIGHEST) for a, b in pairs)


def real_dot(x: Any, y: Any) -> Any:
    """The real part of ``x^H y``, without the imaginary part."""
    total: Any = 0
    for a, b in zip(pytree.leaves(x), pytree.leaves(y), strict=True):
        total = total + dot(a.real, b.real)
        if "c" in (a.dtype.kind, b.dtype.kind):
            total = total + dot(a.imag, b.imag)
    return total


def norm(x: Any) -> Any:
    """Euclidean length."""
    return jnp.sqrt(real_dot(x, x))


def pick(which: Any, yes: Any, no: Any) -> Any:
    """One of two vectors."""
    return pytree.tree_map(partial(jnp.where, which), yes, no)
