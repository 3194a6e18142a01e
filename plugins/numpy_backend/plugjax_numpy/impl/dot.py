"""Kernel of dot products: BLAS, reached through transposes and reshapes."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.dot import CanonicalNumbers, dot_general_p, free_axes
from plugjax.lax.dot_algorithm import DotAlgorithm, DotAlgorithmPreset, algorithm_dtypes
from plugjax.lax.promotion import join
from plugjax_numpy.kernels import Value, mark_fresh

rules = RuleSet(__name__)
mark_fresh(rules, dot_general_p)


@cache
def _plan(numbers: CanonicalNumbers, lhs_rank: int, rhs_rank: int) -> tuple[Any, ...]:
    """Axis orders that group batch, free and contracting axes, and the number of each."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers
    lhs_free = free_axes(lhs_rank, lhs_contracting, lhs_batch)
    rhs_free = free_axes(rhs_rank, rhs_contracting, rhs_batch)
    lhs_order = (*lhs_batch, *lhs_free, *lhs_contracting)
    rhs_order = (*rhs_batch, *rhs_contracting, *rhs_free)
    return lhs_order, rhs_order, len(lhs_batch), len(lhs_free), len(rhs_contracting)


@cache
def product_dtypes(lhs: Any, rhs: Any, preferred: Any) -> tuple[Any, Any]:
    """The dtype of products and sums, and that of the result."""
    result = lhs if lhs == rhs else join(((lhs, False), (rhs, False)))
    computed = result
    if preferred is not None and preferred != result:
        result = preferred
        computed = join(((computed, False), (preferred, False)))
    if computed == np.float16 or computed in dtypes.CUSTOM_FLOATS:
        computed = dtypes.FLOAT32
    elif computed in dtypes.SIGNED_SMALL or computed in dtypes.UNSIGNED_SMALL:
        computed = dtypes.INT32
    return computed, result


@rules.define(impl, dot_general_p)
def _dot_general(
    x: Value,
    y: Value,
    *,
    dimension_numbers: CanonicalNumbers,
    precision: Any,
    preferred_element_type: Any,
) -> Value:
    computed, result = product_dtypes(x.dtype, y.dtype, preferred_element_type)
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        left, right, total = algorithm_dtypes(precision, x.dtype, y.dtype, result)
        x, y = x.astype(left), y.astype(right)
        computed, _ = product_dtypes(left, right, total)
        return _in_dtypes(x, y, dimension_numbers, computed, total).astype(result)
    return _in_dtypes(x, y, dimension_numbers, computed, result)


def _in_dtypes(
    x: Value, y: Value, dimension_numbers: CanonicalNumbers, computed: Any, result: Any
) -> Value:
    if x.dtype != computed:
        x = x.astype(computed)
    if y.dtype != computed:
        y = y.astype(computed)
    z = _contract(x, y, dimension_numbers)
    return z if computed == result else z.astype(result)


def _contract(x: Value, y: Value, numbers: CanonicalNumbers) -> Value:
    # One term is not added up: `dot` takes 0 times inf for 0.
    if numbers == (((x.ndim - 1,), (0,)), ((), ())) and x.ndim <= 2 >= y.ndim and x.shape[-1] != 1:
        return np.dot(x, y)
    lhs_order, rhs_order, batch, free, contracting = _plan(numbers, x.ndim, y.ndim)
    x, y = np.asarray(x).transpose(lhs_order), np.asarray(y).transpose(rhs_order)
    batch_shape = x.shape[:batch]
    rows, columns = x.shape[batch : batch + free], y.shape[batch + contracting :]
    inner = math.prod(y.shape[batch : batch + contracting])
    m, n = math.prod(rows), math.prod(columns)
    product = np.matmul(x.reshape(*batch_shape, m, inner), y.reshape(*batch_shape, inner, n))
    return product.reshape((*batch_shape, *rows, *columns))
