"""Calls of LAPACK by their names in XLA's runtime on processors, for matrices whose sizes are not known.

A decomposition in StableHLO goes through pairs of columns, or halves a matrix: what it does depends on the sizes. The targets, their
results and their modes are those that JAX's artifacts call. Where LAPACK reports a failure, results are nan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import Primitive, ShapedArray, min_dim
from plugjax.extend.dtypes import INT32
from plugjax.extend.transforms import stage
from plugjax.lax.axes import is_symbolic
from plugjax.lax.comparison import eq
from plugjax.lax.complex import complex as complex_
from plugjax.lax.linalg.eig import eig_p
from plugjax.lax.linalg.eigh import eigh_p
from plugjax.lax.linalg.matrices import triu
from plugjax.lax.linalg.qr import qr_p
from plugjax.lax.linalg.schur_hessenberg import schur_p
from plugjax.lax.linalg.svd import svd_p
from plugjax.lax.selection import select
from plugjax.lax.shape import broadcast_in_dim, full, full_like
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.custom_call import attribute_of, custom_call
from plugjax.stablehlo.mlir import Value

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def unknown_matrix(avals: Sequence[ShapedArray]) -> bool:
    """Whether the size of a matrix is not known; a leading axis does not count."""
    return any(map(is_symbolic, (d for a in avals for d in a.shape[-2:])))


def on_lapack(ctx: EqnContext) -> bool:
    """Whether an equation is lowered by this module."""
    kind = ctx.module.device_kind
    found = ctx.primitive in _CALLS and ctx.avals_in[0].dtype.name in _LETTERS
    return found and kind == "cpu" and ctx.platform == "xla" and unknown_matrix(ctx.avals_in)


def lapack(ctx: EqnContext, x: Value, **params: Any) -> Sequence[Value]:
    """The results of an equation that :func:`on_lapack` is true of."""
    return _CALLS[ctx.primitive](ctx, x, **params)


def _call(
    ctx: EqnContext,
    name: str,
    operands: Sequence[Value],
    avals_in: Sequence[ShapedArray],
    avals_out: Sequence[ShapedArray],
    matrices: Sequence[bool],
    in_place: bool = False,
    **modes: str,
) -> list[Value]:
    """Call a routine.

    Args:
        ctx: of the equation.
        name: of the routine, without the letter of the dtype.
        operands: values; the first is a matrix.
        avals_in: types of the operands.
        avals_out: types of the results.
        matrices: which of the operands, then of the results, are matrices: they lie column by column.
        in_place: whether the first result takes the memory of the first operand.
        **modes: letters by name.
    """
    letter = _LETTERS[ctx.avals_in[0].dtype.name]
    layouts = [_layout(a, m) for a, m in zip((*avals_in, *avals_out), matrices, strict=True)]
    return list(
        custom_call(
            f"lapack_{letter}{name}_ffi",
            [mlir.type_of(a) for a in avals_out],
            operands,
            api_version=4,
            backend_config={key: attribute_of(np.uint8(ord(m))) for key, m in modes.items()},
            operand_output_aliases={0: 0} if in_place else None,
            operand_layouts=layouts[: len(avals_in)],
            result_layouts=layouts[len(avals_in) :],
            result_sizes=[a.shape for a in avals_out],
        ).results
    )


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
        ctx, routine, [x], [aval], outs, [True, True, False, False], in_place=True,
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
        ctx, "gesdd", [x], [aval], outs, [True, True, False, True, True, False], in_place=True,
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
        in_place=True, mode="V" if compute_schur_vectors else "N", sort="N",
    )  # fmt: skip

    def finish(form: Any, vectors: Any, *rest: Any) -> list[Any]:
        return _or_nan(rest[-1], form, *([vectors] if compute_schur_vectors else []))

    return _finished(ctx, finish, found, outs)


def _qr(ctx: EqnContext, x: Value, **_: Any) -> Sequence[Value]:
    """Of square matrices: which of two sizes is less must be known for others."""
    (aval,) = ctx.avals_in
    tau = aval.update(shape=aval.shape[:-1])
    factors, scales = _call(
        ctx, "geqrf", [x], [aval], [aval, tau], [True, True, False], in_place=True
    )
    product = "ungqr" if aval.dtype.kind == "c" else "orgqr"
    (q,) = _call(
        ctx, product, [factors, scales], [aval, tau], [aval], [True, False, True], in_place=True
    )
    (r,) = _finished(ctx, lambda x: [triu(x)], [factors], [aval])
    return [q, r]


_CALLS: dict[Primitive, Callable[..., Sequence[Value]]] = {
    eig_p: _eig,
    eigh_p: _eigh,
    qr_p: _qr,
    schur_p: _schur,
    svd_p: _svd,
}
