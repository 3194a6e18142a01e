"""Layouts of BCOO buffers: which axes are batch, sparse and dense, and whether buffers fit them.

An array of shape ``[batch..., sparse..., dense...]`` has data ``[batch..., nse, dense...]`` and indices
``[batch..., nse, n_sparse]``. A batch axis of a buffer may have size 1, and is then shared. An index vector with an entry out of
bounds is padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from plugjax.experimental.sparse.base import Shape
from plugjax.extend import dtypes


class SparseInfo(NamedTuple):
    """What describes a BCOO or BCSR array beside its buffers.

    Attributes:
        shape: of the array.
        indices_sorted: whether indices are in lexicographic order.
        unique_indices: whether no index occurs twice.
    """

    shape: Shape
    indices_sorted: bool = False
    unique_indices: bool = False


class BCOOProperties(NamedTuple):
    """Numbers of axes of each kind, and of stored elements."""

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int


def compatible(sizes: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether batch axes of a buffer fit those of the array."""
    return all(a in (1, b) for a, b in zip(sizes, wanted, strict=True))


def bcoo_indices_properties(indices: Any, shape: Sequence[int]) -> BCOOProperties:
    """Properties of the layout of indices.

    Raises:
        TypeError: indices are no integers.
        ValueError: their shape does not fit.
    """
    if not dtypes.is_integer(indices.dtype):
        raise TypeError(f"BCOO: indices are integers, got dtype {indices.dtype}.")
    found = indices.shape
    if len(found) < 2 or len(found) - 2 + found[-1] > len(shape):
        raise ValueError(
            f"BCOO: indices have shape [batch..., nse, n_sparse], got {found} for an array of shape {tuple(shape)}."
        )
    n_batch, (nse, n_sparse) = len(found) - 2, found[-2:]
    if not compatible(found[:n_batch], shape[:n_batch]):
        raise ValueError(
            f"BCOO: indices batch dimensions not compatible: {found[:n_batch]} for an array of shape {tuple(shape)}. "
            "Each is 1 or that of the array."
        )
    return BCOOProperties(n_batch, n_sparse, len(shape) - n_batch - n_sparse, nse)


def bcoo_properties(data: Any, indices: Any, shape: Sequence[int]) -> BCOOProperties:
    """Properties of the layout of buffers.

    Raises:
        TypeError: indices are no integers.
        ValueError: shapes do not fit.
    """
    props = bcoo_indices_properties(indices, shape)
    n_batch = props.n_batch
    rest = (props.nse, *shape[n_batch + props.n_sparse :])
    if tuple(data.shape[n_batch:]) != rest:
        raise ValueError(
            f"BCOO: Invalid data.shape={tuple(data.shape)} for {props}: after {n_batch} batch axes comes {rest}."
        )
    if not compatible(data.shape[:n_batch], shape[:n_batch]):
        raise ValueError(
            f"BCOO: data batch dimensions not compatible: {tuple(data.shape)} for an array of shape {tuple(shape)}. "
            "Each is 1 or that of the array."
        )
    return props


def split_shape(shape: Sequence[Any], props: BCOOProperties) -> tuple[Any, Any, Any]:
    """Entries of batch, sparse and dense axes."""
    stop = props.n_batch + props.n_sparse
    return tuple(shape[: props.n_batch]), tuple(shape[props.n_batch : stop]), tuple(shape[stop:])
