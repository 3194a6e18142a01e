"""Kernels of QR factors and of products of Householder reflections."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.extend.rules import RuleSet, impl
from plugjax.lax.linalg.householder import geqp3_p, geqrf_p, householder_product_p, ormqr_p
from plugjax.lax.linalg.qr import qr_p
from plugjax_numpy.kernels import Value
from plugjax_numpy.lapack import each, routine, wide

rules = RuleSet(__name__)


@rules.define(impl, geqrf_p)
def _geqrf(x: Value) -> list[Value]:
    a = wide(x)
    outs = [np.empty_like(a), np.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)]
    geqrf = routine("geqrf", a.dtype)
    if a.size:
        each(lambda matrix: geqrf(matrix)[:2], a.shape[:-2], outs, a)
    return [out.astype(x.dtype, copy=False) for out in outs]


@rules.define(impl, geqp3_p)
def _geqp3(x: Value, jpvt: Value) -> list[Value]:
    a = wide(x)
    *lead, rows, columns = a.shape
    batch = tuple(lead)
    packed = np.empty_like(a)
    order = np.empty((*batch, columns), np.int32)
    order[...] = np.arange(1, columns + 1)
    taus = np.zeros((*batch, min(rows, columns)), a.dtype)

    def factor(matrix: Value, first: Value) -> tuple[Value, Value, Value]:
        # SciPy's routine leaves all columns free. Fixed columns, which come first, are factored
        # separately.
        fixed = np.flatnonzero(first)
        start = np.arange(columns)
        for place, column in enumerate(fixed.tolist()):
            # Move them to the front by exchanges, as LAPACK does.
            start[[place, column]] = start[[column, place]]
        return _factor_after(matrix[:, start], start, len(fixed))

    if a.size:
        each(factor, batch, [packed, order, taus], a, jpvt)
    return [packed.astype(x.dtype, copy=False), order, taus.astype(x.dtype, copy=False)]


def _factor_after(matrix: Value, start: Value, fixed: int) -> tuple[Value, Value, Value]:
    """QR factorization with free columns after the first ``fixed`` ones."""
    geqp3 = routine("geqp3", matrix.dtype)
    if not fixed:
        packed, order, taus, _, _ = geqp3(matrix)
        return packed, order.astype(np.int32), taus
    rows, columns = matrix.shape
    packed = np.array(matrix, order="F")
    taus = np.zeros(min(rows, columns), matrix.dtype)
    head = routine("geqrf", matrix.dtype)(matrix[:, :fixed])[:2]
    packed[:, :fixed] = head[0]
    done = len(head[1])
    taus[:done] = head[1]
    if columns > fixed:
        packed[:, fixed:] = _multiplied(head[0], head[1], matrix[:, fixed:], True, True)
    order = start + 1
    if columns > fixed and rows > fixed:
        below, inner, rest, _, _ = geqp3(packed[fixed:, fixed:])
        packed[:fixed, fixed:] = packed[:fixed, fixed:][:, inner - 1]
        packed[fixed:, fixed:] = below
        taus[fixed : fixed + len(rest)] = rest
        order = np.concatenate([order[:fixed], order[fixed:][inner - 1]])
    return packed, order.astype(np.int32), taus


@rules.define(impl, householder_product_p)
def _householder_product(a: Value, taus: Value) -> Value:
    return _product(wide(a), wide(taus)).astype(a.dtype, copy=False)


def _product(packed: Value, taus: Value) -> Value:
    if not packed.size:
        return np.array(packed)
    orgqr = routine("orgqr ungqr", packed.dtype)
    outs = [np.empty_like(packed)]
    return each(lambda v, t: orgqr(v, t)[:1], packed.shape[:-2], outs, packed, taus)[0]


@rules.define(impl, ormqr_p)
def _ormqr(a: Value, taus: Value, c: Value, *, left: bool, transpose: bool) -> Value:
    packed, factors, given = wide(a), wide(taus), wide(c)
    if not given.size or not factors.shape[-1]:
        return np.array(c)

    def multiply(vectors: Value, tau: Value, matrix: Value) -> tuple[Value]:
        return (_multiplied(vectors, tau, matrix, left, transpose),)

    outs = [np.empty_like(given)]
    each(multiply, given.shape[:-2], outs, packed, factors, given)
    return outs[0].astype(c.dtype, copy=False)


def _multiplied(vectors: Value, taus: Value, matrix: Value, left: bool, adjoint: bool) -> Value:
    """``Q matrix`` or ``matrix Q``, with Q or its adjoint."""
    ormqr = routine("ormqr unmqr", matrix.dtype)
    trans = ("C" if matrix.dtype.kind == "c" else "T") if adjoint else "N"
    vectors = np.asfortranarray(vectors[:, : len(taus)])
    workspace = max(1, matrix.shape[1] if left else matrix.shape[0]) * 64
    found: Any = ormqr("L" if left else "R", trans, vectors, taus, matrix, workspace)
    return found[0]


@rules.define(impl, qr_p)
def _qr(x: Value, *, pivoting: bool, full_matrices: bool, **_: Any) -> list[Value]:
    a = wide(x)
    *lead, rows, columns = a.shape
    inner = rows if full_matrices else min(rows, columns)
    order: list[Value] = []
    if pivoting:
        packed, columns_from_1, taus = _geqp3(a, np.zeros((*lead, columns), np.int32))
        order = [columns_from_1 - np.int32(1)] if a.size else [np.zeros((*lead, columns), np.int32)]
    else:
        packed, taus = _geqrf(a)
    if a.size:
        vectors = np.zeros((*lead, rows, inner), a.dtype)
        vectors[..., : min(inner, columns)] = packed[..., :inner]
        q, r = _product(vectors, taus), np.triu(packed[..., :inner, :])
    else:
        q, r = np.empty((*lead, rows, inner), a.dtype), np.zeros((*lead, inner, columns), a.dtype)
        q[...] = np.eye(rows, inner)
    return [q.astype(x.dtype, copy=False), r.astype(x.dtype, copy=False), *order]
