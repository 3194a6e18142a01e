"""Sparse linear systems: the primitive ``spsolve``, which SciPy computes on the host.

Derivatives come from ``A x = b``: ``A x_dot = b_dot - A_dot x``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plugjax import lax
from plugjax.experimental.sparse.primitives import csr_matvec_p
from plugjax.extend import dtypes
from plugjax.extend.core import Primitive, ShapedArray, Zero, add_any, aval_of
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    impl,
    jvp_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis, is_undefined_primal, materialize

rules = RuleSet(__name__)

spsolve_p = Primitive("spsolve")

_REORDERINGS = (0, 1, 2, 3)


@rules.define(abstract_eval, spsolve_p)
def _avals(
    data: ShapedArray,
    indices: ShapedArray,
    indptr: ShapedArray,
    b: ShapedArray,
    *,
    tol: float,
    reorder: int,
) -> ShapedArray:
    if data.dtype != b.dtype:
        raise ValueError(
            f"spsolve: data types do not match: {data.dtype=}, {b.dtype=}. Convert one of them."
        )
    if not (dtypes.is_integer(indices.dtype) and dtypes.is_integer(indptr.dtype)):
        raise ValueError(
            f"spsolve: index arrays must be integer typed; got {indices.dtype=}, {indptr.dtype=}."
        )
    shapes = [x.shape for x in (data, indices, indptr, b)]
    if any(len(s) != 1 for s in shapes):
        raise ValueError(
            f"spsolve: Arrays must be one-dimensional. Got data, indices, indptr and b of shapes {shapes}."
        )
    if indptr.size != b.size + 1 or data.shape != indices.shape:
        raise ValueError(
            f"spsolve: Invalid CSR buffer sizes: data, indices, indptr and b have shapes {shapes}; indptr is one longer "
            "than b, and data and indices are equally long."
        )
    if reorder not in _REORDERINGS:
        raise ValueError(f"spsolve: {reorder=} not valid, must be one of {_REORDERINGS}.")
    return ShapedArray(b.shape, b.dtype)


@rules.define(impl, spsolve_p)
def _solve(data: Any, indices: Any, indptr: Any, b: Any, *, tol: float, reorder: int) -> Any:
    import scipy.sparse  # noqa: PLC0415  # SciPy takes long to import
    import scipy.sparse.linalg  # noqa: PLC0415

    matrix = scipy.sparse.csr_matrix((data, indices, indptr), shape=(b.size, b.size))
    found = scipy.sparse.linalg.spsolve(matrix.tocsc(), b)
    return np.atleast_1d(found).astype(b.dtype)


@rules.define(jvp_rule, spsolve_p)
def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    data, indices, indptr, b = primals
    data_dot, _, _, right = tangents
    x = spsolve_p.bind(*primals, **params)
    if type(data_dot) is not Zero:
        size = aval_of(b).shape[0]
        (change,) = csr_matvec_p.bind(
            data_dot, indices, indptr, x, shape=(size, size), transpose=False
        )
        right = add_any(right, lax.neg(change))
    if type(right) is Zero:
        return x, right
    return x, spsolve_p.bind(data, indices, indptr, right, **params)


@rules.define(transpose_rule, spsolve_p)
def _transpose(
    x_bar: Any, data: Any, indices: Any, indptr: Any, b: Any, **params: Any
) -> list[Any]:
    from plugjax.experimental.sparse.bcsr_buffers import (  # noqa: PLC0415  # on first use
        compressed,
        rows_of,
    )
    from plugjax.numpy import stack  # noqa: PLC0415

    assert is_undefined_primal(b)
    row = rows_of(indices, indptr)
    found = lax.sort((indices, row, data), num_keys=2)
    size = aval_of(indptr).shape[0] - 1
    where, starts = compressed(stack(found[:2], axis=-1), (size, size), aval_of(indptr).dtype)
    return [None, None, None, spsolve_p.bind(found[2], where, starts, x_bar, **params)]


@rules.define(batching_rule, spsolve_p)
def _batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[Any, Any]:
    moved = [
        None if d is None else materialize(x, d, axis) for x, d in zip(args, dims, strict=True)
    ]

    def one(instance: Any) -> Any:
        rest = iter(instance)
        operands = [x if m is None else next(rest) for x, m in zip(args, moved, strict=True)]
        return spsolve_p.bind(*operands, **params)

    return lax.map(one, [m for m in moved if m is not None]), 0
