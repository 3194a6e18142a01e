"""The order of axes of BCOO arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.experimental.sparse.layout import SparseInfo, bcoo_properties
from plugjax.experimental.sparse.places import columns
from plugjax.extend.core import aval_of


def split_permutation(
    data: Any, indices: Any, permutation: Sequence[int], shape: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """A permutation of axes as those of batch, sparse and dense axes, each counted from 0.

    Raises:
        TypeError: it is no permutation.
        NotImplementedError: it mixes axes of different kinds.
    """
    if not isinstance(permutation, (tuple, list, np.ndarray)):
        raise TypeError(
            f"bcoo_transpose: transpose permutation must be a tuple/list/ndarray, got {type(permutation)}."
        )
    order = tuple(int(p) for p in permutation)
    if sorted(order) != list(range(len(shape))):
        raise TypeError(
            f"bcoo_transpose: {order} isn't a permutation of operand dimensions of shape {tuple(shape)}."
        )
    props = bcoo_properties(data, indices, shape)
    first, stop = props.n_batch, props.n_batch + props.n_sparse
    batch, sparse, dense = order[:first], order[first:stop], order[stop:]
    if any(p >= first for p in batch):
        raise NotImplementedError(
            f"bcoo_transpose cannot permute batch axes with non-batch axes; got permutation {order} with {props}. Use "
            "update_layout first."
        )
    if any(p < stop for p in dense):
        raise NotImplementedError(
            f"bcoo_transpose cannot permute dense axes with non-dense axes; got permutation {order} with {props}. Use "
            "update_layout first."
        )
    return batch, tuple(p - first for p in sparse), tuple(p - stop for p in dense)


def transpose_buffers(
    data: Any, indices: Any, *, permutation: tuple[int, ...], spinfo: SparseInfo
) -> list[Any]:
    """Buffers with axes in another order."""
    batch, sparse, dense = split_permutation(data, indices, permutation, spinfo.shape)
    n = len(batch)
    indices = columns(indices, sparse)
    if batch != tuple(range(n)):
        indices = lax.transpose(indices, (*batch, n, n + 1))
    order = (*batch, n, *(p + n + 1 for p in dense))
    if order != tuple(range(aval_of(data).ndim)):
        data = lax.transpose(data, order)
    return [data, indices]
