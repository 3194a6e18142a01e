"""Elementwise operations that map 0 to 0, sums, products and quotients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax import lax
from plugjax.experimental.sparse import primitives
from plugjax.experimental.sparse.arithmetic import bcoo_multiply_dense, bcoo_multiply_sparse
from plugjax.experimental.sparse.spvalues import (
    SparsifyEnv,
    SparsifyValue,
    arrays_to_spvalues,
    spvalues_to_arrays,
)
from plugjax.experimental.sparse.transform import sparse_bcoo_rule, sparse_bcsr_rule
from plugjax.extend.core import Primitive, add_any_p, aval_of, stop_gradient_p
from plugjax.extend.rules import RuleSet

rules = RuleSet(__name__)

# f(x + y) is f(x) + f(y), so values at equal indices may stay apart.
LINEAR = (
    lax.conj_p, lax.copy_p, lax.imag_p, lax.neg_p, lax.real_p, stop_gradient_p,
)  # fmt: skip
# What these map zero to is zero.
ZERO_PRESERVING = (
    lax.abs_p, lax.asin_p, lax.asinh_p, lax.atan_p, lax.atanh_p, lax.bessel_i1e_p, lax.cbrt_p, lax.ceil_p,
    lax.convert_element_type_p, lax.erf_inv_p, lax.erf_p, lax.expm1_p, lax.floor_p, lax.log1p_p, lax.round_p, lax.sign_p,
    lax.sin_p, lax.sinh_p, lax.sqrt_p, lax.square_p, lax.tan_p, lax.tanh_p,
)  # fmt: skip


def unique(spenv: SparsifyEnv, spvalue: SparsifyValue) -> SparsifyValue:
    """The array with each index once."""
    if spvalue.unique_indices:
        return spvalue
    mat = spvalues_to_arrays(spenv, spvalue)
    return arrays_to_spvalues(spenv, mat.sum_duplicates(nse=mat.nse, remove_zeros=False))


def with_data(spenv: SparsifyEnv, spvalue: SparsifyValue, data: Any) -> SparsifyValue:
    """The array with other values at its indices, which are shared."""
    return spenv.sparse(
        spvalue.shape,
        data,
        indices_ref=spvalue.indices_ref,
        indptr_ref=spvalue.indptr_ref,
        indices_sorted=spvalue.indices_sorted,
        unique_indices=spvalue.unique_indices,
    )


def _unary(primitive: Primitive, linear: bool) -> Callable[..., Sequence[SparsifyValue]]:
    def apply(spenv: SparsifyEnv, x: SparsifyValue, **params: Any) -> Sequence[SparsifyValue]:
        x = x if linear else unique(spenv, x)
        return [with_data(spenv, x, primitive.bind(spenv.data(x), **params))]

    return apply


for _primitive in (*LINEAR, *ZERO_PRESERVING):
    _rule = _unary(_primitive, _primitive in LINEAR)
    rules.define(sparse_bcoo_rule, _primitive)(_rule)
    rules.define(sparse_bcsr_rule, _primitive)(_rule)


@rules.define(sparse_bcoo_rule, lax.integer_pow_p)
@rules.define(sparse_bcsr_rule, lax.integer_pow_p)
def _integer_pow(
    spenv: SparsifyEnv, x: SparsifyValue, *, y: int, **params: Any
) -> Sequence[SparsifyValue]:
    if y <= 0:
        raise NotImplementedError(
            f"sparse rule for integer_pow with non-positive exponent {y} is not implemented because it would result in "
            "dense output. If this is your intent, use sparse.todense() to convert your argument to a dense array."
        )
    x = unique(spenv, x)
    return [with_data(spenv, x, lax.integer_pow_p.bind(spenv.data(x), y=y, **params))]


@rules.define(sparse_bcoo_rule, lax.add_p, add_any_p)
def _add(
    spenv: SparsifyEnv, x: SparsifyValue, y: SparsifyValue, **_: Any
) -> Sequence[SparsifyValue]:
    if x.is_dense() or y.is_dense():
        sparse, dense = (y, x) if x.is_dense() else (x, y)
        if dense.shape != lax.broadcast_shapes(x.shape, y.shape):
            raise NotImplementedError(
                f"Addition between a sparse array of shape {sparse.shape} and a dense array of shape {dense.shape} is not "
                "implemented when the output shape is larger than that of the dense array, since the sparse array would "
                "silently be made dense. If this is your intent, use sparse.todense()."
            )
        return [spenv.dense(spvalues_to_arrays(spenv, sparse).todense() + spenv.data(dense))]
    if x.shape != y.shape:
        raise NotImplementedError(
            f"Addition between sparse matrices of different shapes: {x.shape} and {y.shape}."
        )
    if x.indices_ref == y.indices_ref:
        return [with_data(spenv, x, lax.add(spenv.data(x), spenv.data(y)))]
    indices, data = [spenv.indices(v) for v in (x, y)], [spenv.data(v) for v in (x, y)]
    ranks = [(aval_of(i).ndim, aval_of(d).ndim) for i, d in zip(indices, data, strict=True)]
    if ranks[0] != ranks[1]:
        raise NotImplementedError(
            "Addition between sparse matrices with different batch/dense dimensions. Use update_layout first."
        )
    axis = aval_of(indices[0]).ndim - 2
    return [spenv.sparse(x.shape, lax.concatenate(data, axis), lax.concatenate(indices, axis))]


@rules.define(sparse_bcoo_rule, lax.sub_p)
def _sub(
    spenv: SparsifyEnv, x: SparsifyValue, y: SparsifyValue, **_: Any
) -> Sequence[SparsifyValue]:
    if x.is_dense() or y.is_dense():
        raise NotImplementedError(
            "Subtraction between sparse and dense array. Use sparse.todense()."
        )
    return _add(spenv, x, with_data(spenv, y, lax.neg(spenv.data(y))))


@rules.define(sparse_bcoo_rule, lax.mul_p)
def _mul(
    spenv: SparsifyEnv, x: SparsifyValue, y: SparsifyValue, **_: Any
) -> Sequence[SparsifyValue]:
    if x.is_dense() or y.is_dense():
        sparse, dense = (y, x) if x.is_dense() else (x, y)
        mat = spvalues_to_arrays(spenv, sparse)
        return [with_data(spenv, sparse, bcoo_multiply_dense(mat, spenv.data(dense)))]
    if x.indices_ref == y.indices_ref and x.unique_indices:
        return [with_data(spenv, x, lax.mul(spenv.data(x), spenv.data(y)))]
    product = bcoo_multiply_sparse(*(spvalues_to_arrays(spenv, v) for v in (x, y)))
    return [spenv.sparse(product.shape, product.data, product.indices)]


@rules.define(sparse_bcoo_rule, lax.div_p)
def _div(
    spenv: SparsifyEnv, x: SparsifyValue, y: SparsifyValue, **_: Any
) -> Sequence[SparsifyValue]:
    if y.is_sparse():
        raise NotImplementedError(
            "Division by a sparse array is not implemented because it would result in dense output. If this is your intent, "
            "use sparse.todense() to convert your arguments to dense arrays."
        )
    mat = spvalues_to_arrays(spenv, x)
    return [with_data(spenv, x, bcoo_multiply_dense(mat, 1.0 / spenv.data(y)))]


@rules.define(sparse_bcoo_rule, primitives.todense_p)
@rules.define(sparse_bcsr_rule, primitives.todense_p)
def _todense(spenv: SparsifyEnv, x: SparsifyValue, **_: Any) -> Sequence[SparsifyValue]:
    return [spenv.dense(spvalues_to_arrays(spenv, x).todense())]
