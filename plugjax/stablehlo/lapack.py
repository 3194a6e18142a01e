"""Calls of LAPACK by their names in XLA's runtime on processors.

A call takes less than a microsecond more than the routine, where a Python function takes tens of them. Programs that are exported, and may run
elsewhere, make them only for matrices whose sizes are not known: a decomposition in StableHLO goes through pairs of columns, or halves a
matrix, so what it does depends on the sizes. The targets, their results and their modes are those that JAX's artifacts call. Where LAPACK
reports a failure, results are nan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from plugjax.extend.core import Primitive, ShapedArray, min_dim
from plugjax.extend.dtypes import INT32
from plugjax.extend.transforms import stage
from plugjax.lax.arithmetic import sub
from plugjax.lax.axes import is_symbolic
from plugjax.lax.comparison import eq
from plugjax.lax.complex import complex as complex_
from plugjax.lax.joining import pad
from plugjax.lax.linalg.cholesky import cholesky_p
from plugjax.lax.linalg.eig import eig_p
from plugjax.lax.linalg.eigh import eigh_p
from plugjax.lax.linalg.householder import (
    geqp3,
    geqp3_p,
    geqrf,
    geqrf_p,
    householder_product,
    householder_product_p,
    ormqr_p,
)
from plugjax.lax.linalg.lu import lu_p, lu_pivots_to_permutation
from plugjax.lax.linalg.matrices import triu
from plugjax.lax.linalg.qr import qr_p
from plugjax.lax.linalg.schur_hessenberg import hessenberg_p, schur_p
from plugjax.lax.linalg.svd import svd_p
from plugjax.lax.linalg.triangular_solve import triangular_solve_p
from plugjax.lax.linalg.tridiagonal import tridiagonal_p, tridiagonal_solve_p
from plugjax.lax.selection import select
from plugjax.lax.shape import broadcast_in_dim, full, full_like
from plugjax.lax.slicing import slice_in_dim
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.custom_call import attribute_of, custom_call
from plugjax.stablehlo.mlir import Attribute, Value

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def unknown_matrix(avals: Sequence[ShapedArray]) -> bool:
    """Whether the size of a matrix is not known; a leading axis does not count."""
    return any(map(is_symbolic, (d for a in avals for d in a.shape[-2:])))


def on_lapack(ctx: EqnContext) -> bool:
    """Whether an equation is lowered by this module."""
    primitive, avals, module = ctx.primitive, ctx.avals_in, ctx.module
    if primitive not in _CALLS or module.device_kind != "cpu" or ctx.platform != "xla":
        return False
    if avals[0].dtype.name not in _LETTERS:
        return False
    if unknown_matrix(avals):
        return primitive in _OF_ANY_SIZE and not ctx.eqn.params.get("pivoting")
    runs_here = module.emit_host_call is not None
    return (
        runs_here
        and not ctx.eqn.params.get("perturb_singular")
        and all(0 not in a.shape for a in avals)
    )


def lapack(ctx: EqnContext, *operands: Value, **params: Any) -> Sequence[Value]:
    """The results of an equation that :func:`on_lapack` is true of."""
    return _CALLS[ctx.primitive](ctx, *operands, **params)


def _call(
    ctx: EqnContext,
    name: str,
    operands: Sequence[Value],
    avals_in: Sequence[ShapedArray],
    avals_out: Sequence[ShapedArray],
    matrices: Sequence[bool],
    in_place: Mapping[int, int] | None = None,
    **modes: str | bool | np.int32,
) -> list[Value]:
    """Call a routine.

    Args:
        ctx: of the equation.
        name: of the routine, without the letter of the dtype.
        operands: values; the first is a matrix.
        avals_in: types of the operands.
        avals_out: types of the results.
        matrices: which of the operands, then of the results, are matrices: they lie column by column.
        in_place: from operands to the results in their memory.
        **modes: letters and numbers by name.
    """
    letter = _LETTERS[ctx.avals_in[0].dtype.name]
    unknown = any(is_symbolic(d) for a in avals_out for d in a.shape)
    layouts = [_layout(a, m) for a, m in zip((*avals_in, *avals_out), matrices, strict=True)]
    return list(
        custom_call(
            f"lapack_{letter}{name}_ffi",
            [mlir.type_of(a) for a in avals_out],
            operands,
            api_version=4,
            backend_config={key: _mode(value) for key, value in modes.items()},
            operand_output_aliases=in_place,
            operand_layouts=layouts[: len(avals_in)],
            result_layouts=layouts[len(avals_in) :],
            result_sizes=[a.shape for a in avals_out] if unknown else None,
            extra_attributes=None if unknown else _spreading(avals_in, avals_out),
        ).results
    )


def _mode(value: str | bool | np.int32) -> Attribute:
    return attribute_of(np.uint8(ord(value)) if isinstance(value, str) else value)


def _spreading(
    avals_in: Sequence[ShapedArray], avals_out: Sequence[ShapedArray]
) -> dict[str, Attribute]:
    """What tells XLA's partitioner that the matrices of a batch are independent."""
    lead = max(a.ndim for a in avals_in) - 2
    names = (chr(c) if c <= ord("z") else f"z_{c - ord('z')}" for c in count(ord("i")))
    batch = [next(names) for _ in range(lead)]
    sizes = dict(zip(batch, avals_in[0].shape, strict=False))

    def side(avals: Sequence[ShapedArray]) -> str:
        found = []
        for aval in avals:
            own = {next(names): size for size in aval.shape[lead:]}
            sizes.update(own)
            found.append(f"[{', '.join([*batch, *own])}]")
        return ", ".join(found)

    sides = f"({side(avals_in)})->({side(avals_out)})"
    factors = ", ".join(f"{name}={size}" for name, size in sizes.items())
    return {
        "mhlo.frontend_attributes": mlir.dictionary({"num_batch_dims": mlir.string(str(lead))}),
        "sdy.sharding_rule": mlir.attribute(
            f"#sdy.op_sharding_rule<{sides} {{{factors}}}, custom>"
        ),
    }


def _layout(aval: ShapedArray, matrix: bool) -> Sequence[int]:
    """The axes, the one with the least stride first."""
    if not matrix:
        return range(aval.ndim)[::-1]
    lead = aval.ndim - 2
    return (lead, lead + 1, *range(lead)[::-1])


def _finished(
    ctx: EqnContext,
    finish: Callable[..., Sequence[Any]],
    values: Sequence[Value],
    avals: Sequence[ShapedArray],
) -> Sequence[Value]:
    """Results made of those of a routine by a program of other primitives."""
    program = stage(lambda *xs: list(finish(*xs)), avals, ctx.primitive.name)
    return ctx.call(program, values, f"{ctx.primitive.name}_finished")


def _or_nan(info: Any, *found: Any) -> list[Any]:
    """Results, nan where the routine failed."""
    results = []
    for x in found:
        shape = x.shape
        good = eq(info, full(info.shape, 0, INT32))
        good = broadcast_in_dim(good, shape, tuple(range(info.ndim)))
        results.append(select(good, x, full_like(x, np.nan)))
    return results


def _info(aval: ShapedArray) -> ShapedArray:
    return ShapedArray(aval.shape[:-2], INT32)


def _eigh(ctx: EqnContext, x: Value, *, lower: bool, **_: Any) -> Sequence[Value]:
    (aval,), (vectors, values) = ctx.avals_in, ctx.avals_out
    routine = "heevd" if aval.dtype.kind == "c" else "syevd"
    outs = [vectors, values, _info(aval)]
    found = _call(
        ctx, routine, [x], [aval], outs, [True, True, False, False], in_place={0: 0},
        mode="V", uplo="L" if lower else "U",
    )  # fmt: skip
    return _finished(ctx, lambda v, w, info: _or_nan(info, v, w), found, outs)


def _svd(
    ctx: EqnContext, x: Value, *, full_matrices: bool, compute_uv: bool, **_: Any
) -> Sequence[Value]:
    (aval,), values = ctx.avals_in, ctx.avals_out[0]
    rows, columns = aval.shape[-2:]
    rank = min_dim(rows, columns)
    left, right = (rows, columns) if full_matrices else (rank, rank)
    u = aval.update(shape=(*aval.shape[:-2], rows, left))
    vt = aval.update(shape=(*aval.shape[:-2], right, columns))
    outs = [aval, values, u, vt, _info(aval)]
    mode = "N" if not compute_uv else "A" if full_matrices else "S"
    found = _call(
        ctx, "gesdd", [x], [aval], outs, [True, True, False, True, True, False], in_place={0: 0},
        mode=mode,
    )  # fmt: skip

    def finish(_: Any, s: Any, u: Any, vt: Any, info: Any) -> list[Any]:
        return _or_nan(info, s, u, vt) if compute_uv else _or_nan(info, s)

    return _finished(ctx, finish, found, outs)


def _eig(
    ctx: EqnContext,
    x: Value,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    **_: Any,
) -> Sequence[Value]:
    (aval,), values = ctx.avals_in, ctx.avals_out[0]
    part = ShapedArray(values.shape, aval.dtype)
    vectors = ShapedArray(aval.shape, values.dtype)
    parts = [part] if aval.dtype.kind == "c" else [part, part]
    outs = [*parts, vectors, vectors, _info(aval)]
    left, right = compute_left_eigenvectors, compute_right_eigenvectors
    found = _call(
        ctx, "geev", [x], [aval], outs, [True, *[False] * len(parts), True, True, False],
        compute_left="V" if left else "N", compute_right="V" if right else "N",
    )  # fmt: skip

    def finish(*found: Any) -> list[Any]:
        *parts, vl, vr, info = found
        w = parts[0] if len(parts) == 1 else complex_(*parts)
        return _or_nan(info, w, *([vl] if left else []), *([vr] if right else []))

    return _finished(ctx, finish, found, outs)


def _schur(ctx: EqnContext, x: Value, *, compute_schur_vectors: bool, **_: Any) -> Sequence[Value]:
    (aval,) = ctx.avals_in
    values = aval.update(shape=aval.shape[:-1])
    parts = [values] if aval.dtype.kind == "c" else [values, values]
    outs = [aval, aval, *parts, _info(aval), _info(aval)]
    found = _call(
        ctx, "gees", [x], [aval], outs, [True, True, True, *[False] * (len(parts) + 2)],
        in_place={0: 0}, mode="V" if compute_schur_vectors else "N", sort="N",
    )  # fmt: skip

    def finish(form: Any, vectors: Any, *rest: Any) -> list[Any]:
        return _or_nan(rest[-1], form, *([vectors] if compute_schur_vectors else []))

    return _finished(ctx, finish, found, outs)


def _product_of(aval: ShapedArray) -> str:
    return "un" if aval.dtype.kind == "c" else "or"


def _geqrf(ctx: EqnContext, x: Value) -> Sequence[Value]:
    (aval,), outs = ctx.avals_in, ctx.avals_out
    return _call(ctx, "geqrf", [x], [aval], outs, [True, True, False], in_place={0: 0})


def _householder_product(ctx: EqnContext, x: Value, taus: Value) -> Sequence[Value]:
    aval = ctx.avals_in[0]
    name = f"{_product_of(aval)}gqr"
    return _call(ctx, name, [x, taus], ctx.avals_in, [aval], [True, False, True], in_place={0: 0})


def _geqp3(ctx: EqnContext, x: Value, order: Value) -> Sequence[Value]:
    matrices = [True, False, True, False, False]
    return _call(
        ctx, "geqp3", [x, order], ctx.avals_in, ctx.avals_out, matrices, in_place={0: 0, 1: 1}
    )


def _qr(
    ctx: EqnContext, x: Value, *, full_matrices: bool, pivoting: bool, **_: Any
) -> Sequence[Value]:
    """Of matrices of unknown sizes square ones: which of two sizes is less must be known for others."""
    (aval,) = ctx.avals_in
    if unknown_matrix([aval]):
        square, tau = aval, aval.update(shape=aval.shape[:-1])
        factors, scales = _call(
            ctx, "geqrf", [x], [aval], [square, tau], [True, True, False], in_place={0: 0}
        )
        (q,) = _call(
            ctx, f"{_product_of(aval)}gqr", [factors, scales], [aval, tau], [aval],
            [True, False, True], in_place={0: 0},
        )  # fmt: skip
        (r,) = _finished(ctx, lambda x: [triu(x)], [factors], [aval])
        return [q, r]
    rows, columns = aval.shape[-2:]
    rank = rows if full_matrices else min(rows, columns)

    def program(x: Any) -> list[Any]:
        order: list[Any] = []
        if pivoting:
            free = full((*aval.shape[:-2], columns), 0, INT32)
            packed, places, taus = geqp3(x, free)
            order = [sub(places, full_like(places, 1))]
        else:
            packed, taus = geqrf(x)
        lead = [(0, 0, 0)] * (aval.ndim - 1)
        wide = pad(packed, np.zeros((), aval.dtype), [*lead, (0, max(rank - columns, 0), 0)])
        vectors = slice_in_dim(wide, 0, rank, axis=aval.ndim - 1)
        r = triu(slice_in_dim(packed, 0, rank, axis=aval.ndim - 2))
        return [householder_product(vectors, taus), r, *order]

    return _finished(ctx, program, [x], [aval])


def _lu(ctx: EqnContext, x: Value) -> Sequence[Value]:
    (aval,), (factors, pivots, _) = ctx.avals_in, ctx.avals_out
    outs = [factors, pivots, _info(aval)]
    found = _call(ctx, "getrf", [x], [aval], outs, [True, True, False, False], in_place={0: 0})

    def finish(factors: Any, pivots: Any, _: Any) -> list[Any]:
        # A factor of a singular matrix is a result. Positions are counted from 1.
        exchanges = sub(pivots, full_like(pivots, 1))
        return [factors, exchanges, lu_pivots_to_permutation(exchanges, aval.shape[-2])]

    return _finished(ctx, finish, found, outs)


def _cholesky(ctx: EqnContext, x: Value) -> Sequence[Value]:
    (aval,) = ctx.avals_in
    outs = [aval, _info(aval)]
    found = _call(ctx, "potrf", [x], [aval], outs, [True, True, False], in_place={0: 0}, uplo="L")
    return _finished(ctx, lambda factor, info: _or_nan(info, factor), found, outs)


def _triangular_solve(ctx: EqnContext, a: Value, b: Value, **on: bool) -> Sequence[Value]:
    """The matrix is conjugated already where it is not transposed."""
    return _call(
        ctx, "trsm", [a, b], ctx.avals_in, ctx.avals_out, [True, True, True], in_place={1: 0},
        side="L" if on["left_side"] else "R", uplo="L" if on["lower"] else "U",
        trans_x=("C" if on["conjugate_a"] else "T") if on["transpose_a"] else "N",
        diag="U" if on["unit_diagonal"] else "N",
    )  # fmt: skip


def _ormqr(
    ctx: EqnContext, a: Value, taus: Value, c: Value, *, left: bool, transpose: bool
) -> Sequence[Value]:
    name = f"{_product_of(ctx.avals_in[0])}mqr"
    matrices = [True, False, True, True]
    return _call(
        ctx, name, [a, taus, c], ctx.avals_in, ctx.avals_out, matrices, in_place={2: 0},
        left=left, transpose=transpose,
    )  # fmt: skip


def _hessenberg(ctx: EqnContext, x: Value) -> Sequence[Value]:
    (aval,) = ctx.avals_in
    outs = [*ctx.avals_out, _info(aval)]
    found = _call(
        ctx, "gehrd", [x], [aval], outs, [True, True, False, False], in_place={0: 0},
        low=np.int32(1), high=np.int32(aval.shape[-1]),
    )  # fmt: skip
    return _finished(ctx, lambda form, taus, info: _or_nan(info, form, taus), found, outs)


def _tridiagonal(ctx: EqnContext, x: Value, *, lower: bool) -> Sequence[Value]:
    (aval,) = ctx.avals_in
    outs = [*ctx.avals_out, _info(aval)]
    routine = "hetrd" if aval.dtype.kind == "c" else "sytrd"
    found = _call(
        ctx, routine, [x], [aval], outs, [True, True, False, False, False, False], in_place={0: 0},
        uplo="L" if lower else "U",
    )  # fmt: skip
    return _finished(ctx, lambda *ys: _or_nan(ys[-1], *ys[:-1]), found, outs)


def _tridiagonal_solve(ctx: EqnContext, *operands: Value, **_: Any) -> Sequence[Value]:
    *diagonals, aval = ctx.avals_in
    outs = [*diagonals, aval, _info(aval)]
    matrices = [False, False, False, True]
    found = _call(
        ctx, "gtsv", operands, ctx.avals_in, outs, [*matrices, *matrices, False],
        in_place={i: i for i in range(4)},
    )  # fmt: skip
    return _finished(ctx, lambda *ys: _or_nan(ys[-1], ys[3]), found, outs)


# Those that exported programs call, too.
_OF_ANY_SIZE = {eig_p, eigh_p, qr_p, schur_p, svd_p}
_CALLS: dict[Primitive, Callable[..., Sequence[Value]]] = {
    cholesky_p: _cholesky,
    eig_p: _eig,
    eigh_p: _eigh,
    geqp3_p: _geqp3,
    geqrf_p: _geqrf,
    hessenberg_p: _hessenberg,
    householder_product_p: _householder_product,
    ormqr_p: _ormqr,
    lu_p: _lu,
    qr_p: _qr,
    schur_p: _schur,
    svd_p: _svd,
    triangular_solve_p: _triangular_solve,
    tridiagonal_p: _tridiagonal,
    tridiagonal_solve_p: _tridiagonal_solve,
}
