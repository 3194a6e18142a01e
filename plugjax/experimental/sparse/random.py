"""Random sparse arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from plugjax import numpy as jnp, random, vmap
from plugjax.experimental.sparse.bcoo import BCOO


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = jnp.float_,
    indices_dtype: Any = None,
    nse: float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """A BCOO array with random values at random indices.

    Args:
        key: of random numbers.
        shape: of the array.
        dtype: of the values.
        indices_dtype: dtype of the indices.
        nse: number of stored elements, or below 1 their fraction.
        n_batch: number of batch axes.
        n_dense: number of dense axes.
        unique_indices: whether no index occurs twice.
        sorted_indices: whether indices are sorted.
        generator: of values: ``(key, shape=..., dtype=..., **kwds)``.
        **kwds: for the generator.

    Raises:
        ValueError: numbers do not fit the shape.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental import sparse
        >>> sparse.random_bcoo(plugjax.random.key(0), (4, 5), nse=3)
        BCOO(float32[4, 5], nse=3)
    """
    shape = tuple(map(operator.index, shape))
    n_batch, n_dense = operator.index(n_batch), operator.index(n_dense)
    n_sparse = len(shape) - n_batch - n_dense
    if min(n_batch, n_dense, n_sparse) < 0:
        raise ValueError(f"random_bcoo: Invalid {n_batch=}, {n_dense=} for {shape=}.")
    batch, inner, dense = (
        shape[:n_batch],
        shape[n_batch : n_batch + n_sparse],
        shape[n_batch + n_sparse :],
    )
    size = math.prod(inner)
    if not 0 <= nse < size:
        raise ValueError(f"random_bcoo: got {nse=}, expected to be between 0 and {size}.")
    count = math.ceil(nse * size) if 0 < nse < 1 else operator.index(int(nse))
    kind = jnp.arange(0).dtype if indices_dtype is None else jnp.dtype(indices_dtype)
    if size > jnp.iinfo(kind).max:
        raise ValueError(
            f"random_bcoo: {indices_dtype=} does not have enough range for {size} sparse indices."
        )

    def places(one: Any) -> Any:
        if not inner:
            return jnp.zeros((count, 0), kind)
        flat = random.choice(one, size, shape=(count,), replace=not unique_indices)
        return jnp.column_stack(jnp.unravel_index(flat.astype(kind), inner))

    keys = random.split(key, math.prod(batch) + 1)
    # The default is the widest float that is on.
    wanted = float if dtype is jnp.float_ else dtype
    data = generator(keys[0], shape=(*batch, count, *dense), dtype=wanted, **kwds)
    indices = vmap(places)(keys[1:]).reshape((*batch, count, n_sparse))
    mat = BCOO((data, indices), shape=shape)
    return mat.sort_indices() if sorted_indices else mat
