"""Operators and methods of sparse arrays: those of dense arrays under ``sparsify``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from plugjax import numpy as jnp
from plugjax.experimental.sparse.bcoo import BCOO
from plugjax.experimental.sparse.transform import sparsify


def _swapped(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return sparsify(lambda x, y: function(y, x))


def _method(name: str) -> Callable[..., Any]:
    def call(mat: Any, *args: Any, **kwargs: Any) -> Any:
        return sparsify(lambda x: getattr(x, name)(*args, **kwargs))(mat)

    return call


def _getitem(mat: Any, index: Any) -> Any:
    found = sparsify(lambda x: x[index])(mat)
    empty = isinstance(mat, BCOO) and not isinstance(found, BCOO) and not np.size(found)
    return BCOO.fromdense(found) if empty else found


def _iter(mat: Any) -> Iterator[Any]:
    return (mat[i] for i in range(mat.shape[0]))


METHODS: dict[str, Callable[..., Any]] = {
    "astype": _method("astype"),
    "reshape": _method("reshape"),
    "sum": _method("sum"),
    "__abs__": sparsify(jnp.abs),
    "__neg__": sparsify(jnp.negative),
    "__pos__": sparsify(jnp.positive),
    "__matmul__": sparsify(jnp.matmul),
    "__rmatmul__": _swapped(jnp.matmul),
    "__mul__": sparsify(jnp.multiply),
    "__rmul__": _swapped(jnp.multiply),
    "__truediv__": sparsify(jnp.divide),
    "__rtruediv__": _swapped(jnp.divide),
    "__add__": sparsify(jnp.add),
    "__radd__": _swapped(jnp.add),
    "__sub__": sparsify(jnp.subtract),
    "__rsub__": _swapped(jnp.subtract),
    "__pow__": lambda x, y: sparsify(lambda m: jnp.power(m, y))(x),
    "__rpow__": _swapped(jnp.power),
    "__getitem__": _getitem,
    "__iter__": _iter,
    "__gt__": sparsify(jnp.greater),
    "__ge__": sparsify(jnp.greater_equal),
    "__lt__": sparsify(jnp.less),
    "__le__": sparsify(jnp.less_equal),
    "__eq__": sparsify(jnp.equal),
    "__ne__": sparsify(jnp.not_equal),
}
