"""Products of a matrix by coordinates with a dense vector or matrix: the primitive ``coordinate_matmul``.

It is linear in the values and in the dense operand. SciPy computes it on the host; elsewhere rows are read, scaled and added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.extend.core import Primitive, ShapedArray, Zero, add_any, aval_of, moveaxis
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    impl,
    jvp_rule,
    lowering,
    transpose_rule,
)
from plugjax.extend.transforms import Axis, batch_flat, is_undefined_primal, stage

rules = RuleSet(__name__)

coordinate_matmul_p = Primitive("coordinate_matmul")

# Dtypes that SciPy multiplies.
KINDS = frozenset(
    map(np.dtype, ("int32", "int64", "float32", "float64", "complex64", "complex128"))
)


def coordinate_matmul(data: Any, row: Any, col: Any, dense: Any, rows: int) -> Any:
    """The product; an element whose row or column is out of bounds is padding.

    Shapes:
        data, row, col: ``[nse]``.
        dense: ``[columns]`` or ``[columns, k]`` -> ``[rows]`` or ``[rows, k]``, of the dtype of ``data``.
    """
    return coordinate_matmul_p.bind(data, row, col, dense, rows=rows)


@rules.define(abstract_eval, coordinate_matmul_p)
def _aval(
    data: ShapedArray, row: ShapedArray, col: ShapedArray, dense: ShapedArray, *, rows: int
) -> ShapedArray:
    return ShapedArray((rows, *dense.shape[1:]), data.dtype)


@rules.define(impl, coordinate_matmul_p)
def _on_host(data: Any, row: Any, col: Any, dense: Any, *, rows: int) -> Any:
    import scipy.sparse  # noqa: PLC0415  # SciPy takes long to import

    columns = dense.shape[0]
    keep = (row >= 0) & (row < rows) & (col >= 0) & (col < columns)
    if not keep.all():
        data, row, col = data[keep], row[keep], col[keep]
    return scipy.sparse.coo_matrix((data, (row, col)), shape=(rows, columns)) @ dense


def _composed(data: Any, row: Any, col: Any, dense: Any, rows: int) -> Any:
    from plugjax.experimental.sparse.places import add_rows, gather_rows  # noqa: PLC0415  # on first use

    found = gather_rows(dense, _column(col))
    values = lax.mul(_beside(data, found), found)
    zeros = lax.full((rows, *aval_of(found).shape[1:]), 0, aval_of(data).dtype)
    return add_rows(zeros, _column(row), values)


def _column(x: Any) -> Any:
    return lax.expand_dims(x, (1,))


def _beside(data: Any, rows: Any) -> Any:
    """Values repeated along the axes of rows."""
    return lax.broadcast_in_dim(data, aval_of(rows).shape, (0,))


@rules.define(lowering, coordinate_matmul_p)
def _lowering(ctx: Any, *operands: Any, rows: int) -> Any:
    program = stage(
        lambda a, b, c, d: [_composed(a, b, c, d, rows)], ctx.avals_in, "coordinate_matmul"
    )
    return ctx.inline(program, operands)


@rules.define(jvp_rule, coordinate_matmul_p)
def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, rows: int) -> tuple[Any, Any]:
    data, row, col, dense = primals
    data_dot, _, _, dense_dot = tangents
    out = coordinate_matmul(data, row, col, dense, rows)
    out_dot: Any = Zero(aval_of(out).to_tangent_aval())
    if type(data_dot) is not Zero:
        out_dot = coordinate_matmul(data_dot, row, col, dense, rows)
    if type(dense_dot) is not Zero:
        out_dot = add_any(out_dot, coordinate_matmul(data, row, col, dense_dot, rows))
    return out, out_dot


@rules.define(transpose_rule, coordinate_matmul_p)
def _transpose(bar: Any, data: Any, row: Any, col: Any, dense: Any, *, rows: int) -> list[Any]:
    from plugjax.experimental.sparse.places import gather_rows  # noqa: PLC0415  # on first use

    if is_undefined_primal(dense):
        turned = coordinate_matmul(data, col, row, bar, aval_of(dense).shape[0])
        return [None, None, None, turned]
    found = lax.mul(gather_rows(bar, _column(row)), gather_rows(dense, _column(col)))
    by_data = lax.reduce_sum(found, (1,)) if aval_of(found).ndim == 2 else found
    return [by_data, None, None, None]


@rules.define(batching_rule, coordinate_matmul_p)
def _batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, rows: int
) -> tuple[Any, Any]:
    data, row, col, dense = args
    if any(d is not None for d in dims[:3]):
        outs, out_dims = batch_flat(
            lambda a, b, c, d: [_composed(a, b, c, d, rows)], axis, args, dims
        )
        return outs[0], out_dims[0]
    # The batch axis of a dense operand is one more axis of its rows.
    assert dims[3] is not None
    moved = moveaxis(dense, dims[3], 1)
    shape = aval_of(moved).shape
    flat = lax.reshape(moved, (shape[0], int(np.prod(shape[1:]))))
    found = coordinate_matmul(data, row, col, flat, rows)
    return lax.reshape(found, (rows, *shape[1:])), 1
