"""Products of a BCOO array and a dense one.

Each stored element meets the rows of the dense operand at its contracted indices (a gather), and what remains of its indices
says where the product is added (a scatter).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax import lax, numpy as jnp
from plugjax.experimental.sparse.layout import SparseInfo, bcoo_properties
from plugjax.experimental.sparse.matrix_product import KINDS, coordinate_matmul
from plugjax.experimental.sparse.places import add_rows, columns, gather_rows, with_batch
from plugjax.extend.core import ShapedArray, aval_of, config, new_cache
from plugjax.extend.transforms import stage


def normalized(numbers: Any) -> Any:
    """Dimension numbers as tuples of ints."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    return (
        (_ints(lhs_contract), _ints(rhs_contract)),
        (_ints(lhs_batch), _ints(rhs_batch)),
    )


def _ints(axes: Any) -> tuple[int, ...]:
    return tuple(int(d) for d in (axes if hasattr(axes, "__iter__") else (axes,)))


_products = new_cache()


def product_aval(
    lhs_shape: tuple[int, ...],
    lhs_dtype: Any,
    rhs_shape: tuple[int, ...],
    rhs_dtype: Any,
    numbers: Any,
    preferred: Any,
) -> ShapedArray:
    """The aval of ``lax.dot_general`` of arrays of these shapes and dtypes, which says what is wrong with them."""
    operands = ShapedArray(lhs_shape, lhs_dtype), ShapedArray(rhs_shape, rhs_dtype)
    key = (config.fingerprint, operands, numbers, preferred)
    found: ShapedArray | None = _products.get(key)
    if found is None:
        program = stage(
            lambda x, y: [lax.dot_general(x, y, numbers, preferred_element_type=preferred)],
            operands,
            "dot_general",
        )
        found = _products[key] = program.out_avals[0]
    return found


def remaining(count: int, *used: Sequence[int]) -> list[int]:
    """The axes below ``count`` that are not used."""
    return [d for d in range(count) if not any(d in axes for axes in used)]


def dot_general_buffers(
    lhs_data: Any,
    lhs_indices: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any,
    lhs_spinfo: SparseInfo,
) -> list[Any]:
    """The product, dense.

    Raises:
        NotImplementedError: a dense axis is contracted, or a batch axis of the product is no batch axis of the layout.
    """
    shape = tuple(lhs_spinfo.shape)
    out = product_aval(
        shape,
        aval_of(lhs_data).dtype,
        aval_of(rhs).shape,
        aval_of(rhs).dtype,
        dimension_numbers,
        preferred_element_type,
    )
    props = bcoo_properties(lhs_data, lhs_indices, shape)
    n, stop = props.n_batch, props.n_batch + props.n_sparse
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    if any(d >= n for d in lhs_batch):
        raise NotImplementedError(
            "bcoo_dot_general batch dimensions must be among the batch dimensions in the sparse representation; got "
            f"{lhs_batch=}, {props}. Use update_layout first."
        )
    if any(d >= stop for d in lhs_contract):
        raise NotImplementedError(
            f"bcoo_dot_general: contracting over dense dimensions; got {lhs_contract=}, {props}. Use update_layout first."
        )
    if (n, props.n_sparse, props.n_dense) == (0, 2, 0) and _is_matrix_product(
        lhs_data, rhs, out, dimension_numbers
    ):
        row, col = (lax.squeeze(columns(lhs_indices, [c]), (1,)) for c in (0, 1))
        if lhs_contract == (0,):
            row, col = col, row
        turned = lax.transpose(rhs, (1, 0)) if rhs_contract == (1,) else rhs
        return [coordinate_matmul(lhs_data, row, col, turned, out.shape[0])]
    pairs = list(zip(lhs_contract, rhs_contract, strict=True))
    summed = [(l, r) for l, r in pairs if l < n]
    looked_up = [(l - n, r) for l, r in pairs if l >= n]
    kept = remaining(n, lhs_batch, [l for l, _ in summed])

    # Batch axes of the buffers: those of the product, those that are summed, those of the lhs alone.
    order = (*lhs_batch, *(l for l, _ in summed), *kept)
    sizes = [shape[d] for d in order]
    paired = len(lhs_batch) + len(summed)
    indices = _ordered(lhs_indices, order, sizes)
    data = _ordered(lhs_data, order, sizes)
    others = remaining(aval_of(rhs).ndim, rhs_batch, rhs_contract)
    rhs = lax.transpose(
        rhs, (*rhs_batch, *(r for _, r in summed), *(r for _, r in looked_up), *others)
    )

    found = gather_rows(rhs, columns(indices, [c for c, _ in looked_up]), paired)
    places = remaining(props.n_sparse, [c for c, _ in looked_up])
    of_product, rows = range(len(lhs_batch)), range(len(lhs_batch), n + 1)
    # Axes: of the product, summed, kept, nse, then dense of the lhs or free of the rhs.
    together = tuple(range(n + 1))
    if not places:
        contract = tuple(d for d in rows if not paired <= d < n)
        alone = (*of_product, *range(paired, n))
        product = lax.dot_general(
            data, found, ((contract, contract), (alone, alone)), preferred_element_type=out.dtype
        )
        return [lax.convert_element_type(product, out.dtype)]
    values = lax.dot_general(
        data, found, (((), ()), (together, together)), preferred_element_type=out.dtype
    )
    # [product, summed, kept, nse, dense, free] -> [product, kept, summed, nse, ...]: what is summed is rows too.
    lead = (*of_product, *range(paired, n), *range(len(lhs_batch), paired), n)
    values = lax.transpose(values, (*lead, *range(n + 1, values.ndim)))
    where = lax.transpose(columns(indices, places), (*lead, n + 1))
    zeros = jnp.zeros(out.shape, out.dtype)
    total = add_rows(zeros, where, lax.convert_element_type(values, out.dtype), n - len(summed))
    return [total]


def _is_matrix_product(data: Any, rhs: Any, out: ShapedArray, dimension_numbers: Any) -> bool:
    """Whether one axis of a vector or matrix is contracted, and all dtypes are one that hosts multiply."""
    (contract, _), (batch, _) = dimension_numbers
    kinds = {aval_of(data).dtype, aval_of(rhs).dtype, out.dtype}
    return (
        len(contract) == 1
        and not batch
        and aval_of(rhs).ndim <= 2
        and len(kinds) == 1
        and (out.dtype in KINDS)
    )


def _ordered(x: Any, order: Sequence[int], sizes: Sequence[int]) -> Any:
    """A buffer with its batch axes in an order, of the sizes given."""
    n = len(order)
    if tuple(order) != tuple(range(n)):
        x = lax.transpose(x, (*order, *range(n, aval_of(x).ndim)))
    return with_batch(x, sizes)
