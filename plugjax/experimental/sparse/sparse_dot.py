"""Products of two BCOO arrays: all pairs of stored elements with equal contracted indices."""

from __future__ import annotations

import math
from typing import Any

from plugjax import lax, numpy as jnp, vmap
from plugjax.experimental.sparse.dot import product_aval, remaining
from plugjax.experimental.sparse.layout import BCOOProperties, SparseInfo, bcoo_properties
from plugjax.experimental.sparse.order import sum_duplicates_buffers
from plugjax.experimental.sparse.places import columns, common_batch, inside, with_batch
from plugjax.extend.core import aval_of


def spdot_general_buffers(
    lhs_data: Any,
    lhs_indices: Any,
    rhs_data: Any,
    rhs_indices: Any,
    *,
    lhs_spinfo: SparseInfo,
    rhs_spinfo: SparseInfo,
    dimension_numbers: Any,
    preferred_element_type: Any,
) -> list[Any]:
    """The product as BCOO buffers.

    Raises:
        NotImplementedError: a layout has dense axes, or what is contracted or mapped is not a sparse or a batch axis.
        ValueError: the result's batch axes would follow sparse ones.
    """
    lhs_shape, rhs_shape = tuple(lhs_spinfo.shape), tuple(rhs_spinfo.shape)
    out = product_aval(
        lhs_shape,
        aval_of(lhs_data).dtype,
        rhs_shape,
        aval_of(rhs_data).dtype,
        dimension_numbers,
        preferred_element_type,
    )
    lhs = bcoo_properties(lhs_data, lhs_indices, lhs_shape)
    rhs = bcoo_properties(rhs_data, rhs_indices, rhs_shape)
    _check(lhs, rhs, dimension_numbers)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_contract = [d - lhs.n_batch for d in lhs_contract]
    rhs_contract = [d - rhs.n_batch for d in rhs_contract]
    out_n_batch = lhs.n_batch + rhs.n_batch - len(lhs_batch)
    nse = (lhs.nse if lhs.n_sparse > len(lhs_contract) else 1) * (
        rhs.nse if rhs.n_sparse > len(rhs_contract) else 1
    )
    nse = min(nse, math.prod(out.shape[out_n_batch:]))

    # Batch axes of the product first, in both operands.
    given = []
    for data, indices, props, batch in (
        (lhs_data, lhs_indices, lhs, lhs_batch),
        (rhs_data, rhs_indices, rhs, rhs_batch),
    ):
        order = (*batch, *remaining(props.n_batch, batch))
        common = common_batch(props.n_batch, data, indices)
        for x in (data, indices):
            whole = with_batch(x, common)
            given.append(lax.transpose(whole, (*order, *range(props.n_batch, aval_of(whole).ndim))))
    shape = out.shape[out_n_batch:]
    lhs_sizes = [lhs_shape[lhs.n_batch + d] for d in lhs_contract]

    def pairs(a_data: Any, a: Any, b_data: Any, b: Any) -> tuple[Any, Any]:
        a_met, b_met = columns(a, lhs_contract), columns(b, rhs_contract)
        a_kept = columns(a, remaining(lhs.n_sparse, lhs_contract))
        b_kept = columns(b, remaining(rhs.n_sparse, rhs_contract))
        meets = jnp.all(a_met[:, None] == b_met[None], axis=-1)
        meets &= inside(a_met, lhs_sizes)[:, None]
        x, y = (lax.convert_element_type(v, out.dtype) for v in (a_data, b_data))
        values = jnp.where(meets, x[:, None] * y[None], jnp.zeros((), out.dtype))
        whole = values.shape
        dtype = jnp.result_type(a, b)
        found = [
            jnp.broadcast_to(a_kept[:, None].astype(dtype), (*whole, a_kept.shape[-1])),
            jnp.broadcast_to(b_kept[None].astype(dtype), (*whole, b_kept.shape[-1])),
        ]
        indices = lax.concatenate(found, 2).reshape(math.prod(whole), len(shape))
        summed = sum_duplicates_buffers(
            values.reshape(-1), indices, spinfo=SparseInfo(shape), nse=nse
        )
        return summed[0], summed[1]

    function: Any = pairs
    for _ in range(rhs.n_batch - len(rhs_batch)):
        function = vmap(function, in_axes=(None, None, 0, 0))
    for _ in range(lhs.n_batch - len(lhs_batch)):
        function = vmap(function, in_axes=(0, 0, None, None))
    sizes = [lhs_shape[d] for d in lhs_batch]
    given = [with_batch(x, sizes) for x in given]
    for _ in lhs_batch:
        function = vmap(function)
    return list(function(*given))


def _check(lhs: BCOOProperties, rhs: BCOOProperties, dimension_numbers: Any) -> None:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    if lhs.n_dense or rhs.n_dense:
        raise NotImplementedError(
            f"bcoo_spdot_general with dense dimensions: {lhs}, {rhs}. Use update_layout first."
        )
    for props, contract, batch in ((lhs, lhs_contract, lhs_batch), (rhs, rhs_contract, rhs_batch)):
        if any(d >= props.n_batch for d in batch):
            raise NotImplementedError(
                "bcoo_spdot_general: batch_dims must correspond to batch dimensions of the sparse representation; got "
                f"{dimension_numbers=}, {props}."
            )
        if any(not props.n_batch <= d < props.n_batch + props.n_sparse for d in contract):
            raise NotImplementedError(
                f"bcoo_spdot_general only supports contraction of sparse indices; got {dimension_numbers=}, {props}."
            )
    if rhs.n_batch > len(rhs_batch) and lhs.n_sparse > len(lhs_contract):
        raise ValueError(
            "bcoo_spdot_general: cannot have unused batch dims on rhs with unused sparse dims on lhs; got "
            f"{dimension_numbers=}, {lhs}, {rhs}. Use update_layout first."
        )
