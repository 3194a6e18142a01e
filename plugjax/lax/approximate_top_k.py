"""The greatest or least elements, nearly all of them.

TPUs find candidates by a reduction over bins, which may put two of the k greatest elements into one bin; the recall is
the mean share of them that is found. Here all are found, on every device, as XLA does on processors. The number of
candidates is that of a TPU, because shapes depend on it.

Reference:
    F. Chern, B. Hechtman, A. Davis, R. Guo, D. Majnemer, S. Kumar, "TPU-KNN: K nearest neighbor search at peak FLOP/s",
    NeurIPS 2022, sections 4 and 5.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from plugjax.extend import dtypes
from plugjax.extend.core import Array, ArrayLike, ShapedArray, as_array, aval_of, moveaxis
from plugjax.extend.rules import RuleSet, abstract_eval
from plugjax.lax.arithmetic import neg
from plugjax.lax.axes import canonical_axis
from plugjax.lax.compound import compound, new_compound
from plugjax.lax.sorting import top_k

rules = RuleSet(__name__)

approx_top_k_p = new_compound("approx_top_k")


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """The k greatest elements along an axis, and their indices.

    Shapes:
        operand: ``[..., n, ...]``, floating -> two of ``[..., k, ...]``: values, and int32.

    Args:
        operand: the array.
        k: how many.
        reduction_dimension: the axis.
        recall_target: mean share of them that must be found; here all are.
        reduction_input_size_override: the size of the axis that the recall is about, if it is larger than ``operand``.
        aggregate_to_topk: ``False`` gives more candidates, as many as a TPU would.

    Raises:
        TypeError: ``operand`` is a scalar.
        ValueError: it is not floating, or there are fewer than k elements.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.approx_max_k(jnp.array([1.0, 4.0, 2.0, 3.0]), 2)
        [Array([4., 3.], dtype=float32), Array([1, 3], dtype=int32)]
    """
    return _bind(
        operand, k, reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk, True
    )  # fmt: skip


def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """The k least elements along an axis, and their indices; arguments as of :func:`approx_max_k`.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.approx_min_k(jnp.array([1.0, 4.0, 2.0, 3.0]), 2)
        [Array([1., 2.], dtype=float32), Array([0, 2], dtype=int32)]
    """
    return _bind(
        operand, k, reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk, False
    )  # fmt: skip


def _bind(
    operand: Any, k: int, axis: int, recall: float, override: int, aggregate: bool, greatest: bool
) -> list[Array]:
    values, places = approx_top_k_p.bind(
        as_array(operand, "approx_top_k"),
        k=operator.index(k),
        reduction_dimension=operator.index(axis),
        recall_target=float(recall),
        is_max_k=greatest,
        reduction_input_size_override=int(override),
        aggregate_to_topk=bool(aggregate),
    )
    return [values, places]


def candidates(size: int, rank: int, k: int, recall: float, override: int) -> int:
    """Number of candidates that a TPU gives along an axis.

    N elements fall into M bins, and the k greatest stay apart with the wanted recall if M is about ``(k - 1) /
    -log(recall)``. Bins are elements of one lane: as many lanes as fit are folded, by a power of 2.
    """
    lanes = 1024 if rank == 1 else 128
    if size <= lanes:
        return size
    chunks = -(-size // lanes)
    whole = size if override < 0 else override
    if k == 1:
        return lanes
    bins = max((1 - k) / math.log(recall), lanes) if recall < 1 else math.inf
    if whole < 2 * bins:
        return size
    folds = int(math.log2(whole / bins))
    folds = min(folds, math.ceil(math.log2(size // lanes)))
    return -(-chunks // 2**folds) * lanes


@rules.define(abstract_eval, approx_top_k_p)
def _approx_top_k_avals(
    x: ShapedArray,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> list[ShapedArray]:
    if k <= 0:
        raise ValueError(f"approx_top_k needs k >= 1, got k={k}.")
    if not x.ndim:
        raise TypeError(f"approx_top_k needs an operand of rank 1 or more, got shape {x.shape}.")
    axis = canonical_axis(reduction_dimension, x.ndim)
    size = x.shape[axis]
    if size < k:
        raise ValueError(
            f"approx_top_k: there are no k={k} elements along an axis of size {size}. Lower k."
        )
    if not dtypes.is_float(x.dtype):
        raise ValueError(f"approx_top_k needs floating-point numbers, got {x.str_short()}.")
    if not 0 < recall_target <= 1:
        raise ValueError(
            f"approx_top_k needs a recall_target above 0 and at most 1, got {recall_target}."
        )
    if 0 <= reduction_input_size_override < size:
        raise ValueError(
            f"reduction_input_size_override must not be smaller than the axis, got {reduction_input_size_override} for "
            f"{x.str_short()}"
        )
    count = k
    if not aggregate_to_topk:
        found = candidates(size, x.ndim, k, recall_target, reduction_input_size_override)
        count = min(found, size)
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return [x.update(shape=shape), ShapedArray(shape, dtypes.INT32)]


def _exact_top_k(
    operand: Any, *, reduction_dimension: int, is_max_k: bool, **params: Any
) -> list[Any]:
    aval = aval_of(operand)
    params = {**params, "reduction_dimension": reduction_dimension, "is_max_k": is_max_k}
    axis = canonical_axis(reduction_dimension, aval.ndim)
    count = _approx_top_k_avals(aval, **params)[0].shape[axis]
    x = moveaxis(operand, axis, aval.ndim - 1)
    values, places = top_k(x if is_max_k else neg(x), count)
    if not is_max_k:
        values = neg(values)
    return [moveaxis(y, aval.ndim - 1, axis) for y in (values, places)]


compound(rules, approx_top_k_p, _exact_top_k)
