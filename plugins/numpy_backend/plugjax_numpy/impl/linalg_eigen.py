"""Kernels of eigenvalues, singular values and the reductions to Hessenberg, Schur and tridiagonal form."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.linalg.eig import eig_p
from plugjax.lax.linalg.eigh import eigh_p
from plugjax.lax.linalg.matrices import complex_dtype, real_dtype
from plugjax.lax.linalg.schur_hessenberg import hessenberg_p, schur_p
from plugjax.lax.linalg.svd import SvdAlgorithm, svd_p
from plugjax.lax.linalg.tridiagonal import tridiagonal_p
from plugjax_numpy.kernels import Value
from plugjax_numpy.lapack import each, routine, wide

rules = RuleSet(__name__)


@rules.define(impl, eigh_p)
def _eigh(x: Value, *, lower: bool, **_: Any) -> list[Value]:
    a = wide(x)
    batch, size = a.shape[:-2], a.shape[-1]
    values = np.empty((*batch, size), real_dtype(a.dtype))
    vectors = np.empty_like(a)
    syevd = routine("syevd heevd", a.dtype)

    def decompose(matrix: Value) -> tuple[Any, Any]:
        w, v, info = syevd(matrix, compute_v=1, lower=lower)
        return (np.nan, np.nan) if info else (w, v)

    if a.size:
        each(decompose, batch, [values, vectors], a)
    return [vectors.astype(x.dtype, copy=False), values.astype(real_dtype(x.dtype), copy=False)]


@rules.define(impl, eig_p)
def _eig(
    x: Value, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any
) -> list[Value]:
    a = wide(x)
    batch, size = a.shape[:-2], a.shape[-1]
    dtype = complex_dtype(a.dtype)
    wanted = [compute_left_eigenvectors, compute_right_eigenvectors]
    outs = [np.empty((*batch, size), dtype)]
    outs += [np.empty((*batch, size, size), dtype) for want in wanted if want]
    geev = routine("geev", a.dtype)

    def decompose(matrix: Value) -> list[Any]:
        if not np.isfinite(matrix).all():
            return [np.nan] * len(outs)
        *w, left, right, info = geev(matrix, compute_vl=wanted[0], compute_vr=wanted[1])
        if info:
            return [np.nan] * len(outs)
        values = w[0] if len(w) == 1 else w[0] + 1j * w[1]
        vectors = [v for v, want in zip((left, right), wanted, strict=True) if want]
        return [values, *(_unpacked(values, v) for v in vectors)]

    if a.size:
        each(decompose, batch, outs, a)
    return outs


def _unpacked(values: Value, vectors: Value) -> Value:
    """Complex eigenvectors of a real matrix, from columns that hold real and imaginary parts of conjugate pairs."""
    if vectors.dtype.kind == "c":
        return vectors
    found = vectors.astype(complex_dtype(vectors.dtype))
    for i in np.flatnonzero(values.imag > 0):
        found[:, i] = vectors[:, i] + 1j * vectors[:, i + 1]
        found[:, i + 1] = found[:, i].conj()
    return found


@rules.define(impl, svd_p)
def _svd(
    x: Value,
    *,
    full_matrices: bool,
    compute_uv: bool,
    algorithm: SvdAlgorithm | None,
    **_: Any,
) -> list[Value]:
    a = wide(x)
    *lead, rows, columns = a.shape
    batch, rank = tuple(lead), min(rows, columns)
    values = np.empty((*batch, rank), real_dtype(a.dtype))
    outs = [values]
    if compute_uv:
        outs.append(np.empty((*batch, rows, rows if full_matrices else rank), a.dtype))
        outs.append(np.empty((*batch, columns if full_matrices else rank, columns), a.dtype))
    if not rank:
        for out in outs[1:]:
            out[...] = np.eye(*out.shape[-2:])
    gesdd = routine("gesvd" if algorithm is SvdAlgorithm.QR else "gesdd", a.dtype)

    def decompose(matrix: Value) -> tuple[Any, ...]:
        if not np.isfinite(matrix).all():
            return (np.nan,) * len(outs)
        u, s, v, info = gesdd(matrix, compute_uv=compute_uv, full_matrices=full_matrices)
        if info:
            return (np.nan,) * len(outs)
        return (s, u, v) if compute_uv else (s,)

    if a.size:
        each(decompose, batch, outs, a)
    kinds = (real_dtype(x.dtype), x.dtype, x.dtype)
    return [out.astype(kind, copy=False) for out, kind in zip(outs, kinds, strict=False)]


@rules.define(impl, schur_p)
def _schur(x: Value, *, compute_schur_vectors: bool) -> list[Value]:
    a = wide(x)
    outs = [np.empty_like(a) for _ in range(1 + compute_schur_vectors)]
    gees = routine("gees", a.dtype)

    def decompose(matrix: Value) -> list[Any]:
        if not np.isfinite(matrix).all():
            return [np.nan] * len(outs)
        form, *_, vectors, _, info = gees(
            lambda *_: None, matrix, compute_v=compute_schur_vectors, sort_t=0
        )
        return [np.nan] * len(outs) if info else [form, vectors][: len(outs)]

    if a.size:
        each(decompose, a.shape[:-2], outs, a)
    return [out.astype(x.dtype, copy=False) for out in outs]


@rules.define(impl, hessenberg_p)
def _hessenberg(x: Value) -> list[Value]:
    a = wide(x)
    batch, size = a.shape[:-2], a.shape[-1]
    outs = [np.array(a), np.zeros((*batch, max(size - 1, 0)), a.dtype)]
    gehrd = routine("gehrd", a.dtype)

    def reduce(matrix: Value) -> tuple[Any, Any]:
        packed, taus, info = gehrd(matrix)
        return (np.nan, np.nan) if info else (packed, taus)

    if a.size and size > 1:
        each(reduce, batch, outs, a)
    return [out.astype(x.dtype, copy=False) for out in outs]


@rules.define(impl, tridiagonal_p)
def _tridiagonal(x: Value, *, lower: bool) -> list[Value]:
    a = wide(x)
    batch, size = a.shape[:-2], a.shape[-1]
    real = real_dtype(a.dtype)
    outs = [np.array(a), np.empty((*batch, size), real), np.zeros((*batch, size - 1), real)]
    outs.append(np.zeros((*batch, size - 1), a.dtype))
    sytrd = routine("sytrd hetrd", a.dtype)

    def reduce(matrix: Value) -> tuple[Any, ...]:
        packed, d, e, taus, info = sytrd(matrix, lower=lower)
        return (np.nan,) * 4 if info else (packed, d, e, taus)

    if size == 1:
        outs[1][...] = a[..., 0].real
    else:
        each(reduce, batch, outs, a)
    kinds = (x.dtype, real_dtype(x.dtype), real_dtype(x.dtype), x.dtype)
    return [out.astype(kind, copy=False) for out, kind in zip(outs, kinds, strict=True)]
