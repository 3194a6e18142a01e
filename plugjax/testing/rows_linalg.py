"""Rows of linear algebra. Squares remove what LAPACK leaves open, such as the signs of eigenvectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from plugjax.lax.linalg.cholesky import cholesky_p, cholesky_update_p
from plugjax.lax.linalg.eig import eig_p
from plugjax.lax.linalg.eigh import eigh_p
from plugjax.lax.linalg.householder import (
    geqp3,
    geqp3_p,
    geqrf,
    geqrf_p,
    householder_product_p,
    ormqr_p,
)
from plugjax.lax.linalg.lu import lu_p, lu_pivots_to_permutation_p
from plugjax.lax.linalg.qr import qr_p
from plugjax.lax.linalg.schur_hessenberg import hessenberg_p, schur_p
from plugjax.lax.linalg.solve import solve, solve_p
from plugjax.lax.linalg.svd import svd_p
from plugjax.lax.linalg.symmetric_product import symmetric_product_p
from plugjax.lax.linalg.triangular_solve import triangular_solve_p
from plugjax.lax.linalg.tridiagonal import tridiagonal_p, tridiagonal_solve_p
from plugjax.testing.row import Op, Sampler, both, in_float64, integers, real

_TOLERANCE = 2e-5


def well_conditioned(size: int = 4) -> Sampler:
    """A matrix with a heavy diagonal whose entries differ."""

    def sample(rng: np.random.Generator) -> tuple[Any, ...]:
        x = rng.uniform(-1, 1, (size, size)) + np.diag(3.0 + 2.0 * np.arange(size))
        return (x.astype(np.float32),)

    return sample


def positive(size: int = 4) -> Sampler:
    """A symmetric matrix with positive, distinct eigenvalues."""

    def sample(rng: np.random.Generator) -> tuple[Any, ...]:
        x = rng.uniform(-1, 1, (size, size))
        return ((x @ x.T + np.diag(1.0 + 2.0 * np.arange(size))).astype(np.float32),)

    return sample


def _reflections() -> Sampler:
    """Packed QR factors."""

    def sample(rng: np.random.Generator) -> tuple[Any, ...]:
        (packed, taus), _ = scipy.linalg.qr(rng.uniform(-1, 1, (5, 3)), mode="raw")
        return packed.astype(np.float32), taus.astype(np.float32)

    return sample


def _full_q(packed: Any, taus: Any) -> Any:
    q = np.eye(len(packed))
    for i, tau in enumerate(taus):
        v = np.concatenate([np.zeros(i), [1.0], packed[i + 1 :, i]])
        q = q @ (np.eye(len(packed)) - tau * np.outer(v, v))
    return q


def _lu(x: Any) -> list[Any]:
    factors, pivots = scipy.linalg.lu_factor(x)
    return [factors, pivots, _permuted(pivots, len(x))]


def _permuted(pivots: Any, size: int) -> Any:
    order = np.arange(size)
    for i, j in enumerate(pivots):
        order[[i, j]] = order[[j, i]]
    return order


def _raw_pivoted(x: Any) -> list[Any]:
    (packed, taus), _, order = scipy.linalg.qr(x, mode="raw", pivoting=True)
    return [packed, order + 1, taus]


def _tridiagonal(x: Any) -> list[Any]:
    packed, d, e, taus, _ = scipy.linalg.lapack.dsytrd(x, lower=1)
    return [packed, d, e, taus]


def _banded(dl: Any, d: Any, du: Any, b: Any) -> Any:
    return np.linalg.solve(np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1), b)


def _hessenberg(x: Any) -> list[Any]:
    packed, taus, _ = scipy.linalg.lapack.dgehrd(x)
    return [packed, taus]


def _updated(r: Any, w: Any) -> Any:
    return np.linalg.cholesky(r.T @ r + np.outer(w, w)).T


def _upper() -> Sampler:
    return lambda rng: (np.triu(well_conditioned()(rng)[0]),)


def _row(
    name: str,
    primitive: Any,
    call: Callable[..., Any],
    oracle: Callable[..., Any],
    sample: Sampler,
    order: int = 0,
    **more: Any,
) -> Op:
    return Op(name, primitive, call, in_float64(oracle), sample, order, rtol=_TOLERANCE, **more)


def _triangular(name: str, lower: bool, left: bool, transpose: bool) -> Op:
    def oracle(a: Any, b: Any) -> Any:
        matrix = np.tril(a) if lower else np.triu(a)
        matrix = matrix.T if transpose else matrix
        return np.linalg.solve(matrix, b) if left else np.linalg.solve(matrix.T, b.T).T

    return _row(
        name,
        triangular_solve_p,
        lambda lax, a, b: lax.linalg.triangular_solve(
            a, b, left_side=left, lower=lower, transpose_a=transpose
        ),
        oracle,
        both(well_conditioned(), real(-2, 2, (4, 3) if left else (3, 4))),
        2,
    )


LINALG = [
    _row(
        "cholesky",
        cholesky_p,
        lambda lax, x: lax.linalg.cholesky(x),
        np.linalg.cholesky,
        positive(),
        2,
    ),
    _row(
        "cholesky_update",
        cholesky_update_p,
        lambda lax, r, w: lax.linalg.cholesky_update(r, w),
        _updated,
        both(_upper(), real(-2, 2, (4,))),
        without_jax="it has no batching there, and gives other signs",
    ),
    _triangular("triangular_solve", True, True, False),
    _triangular("triangular_solve right", False, False, True),
    _row("lu", lu_p, lambda lax, x: list(lax.linalg.lu(x)), _lu, well_conditioned(), 2),
    _row(
        "lu of a tall matrix",
        lu_p,
        lambda lax, x: lax.linalg.lu(x)[0],
        lambda x: _lu(x)[0],
        real(-2, 2, (5, 3)),
        1,
    ),
    Op(
        "lu_pivots_to_permutation",
        lu_pivots_to_permutation_p,
        lambda lax, p: lax.linalg.lu_pivots_to_permutation(p, 6),
        lambda p: _permuted(p, 6),
        integers(3, 6, (4,)),
    ),
    _row(
        "solve",
        solve_p,
        lambda lax, a, b: solve(a, b),
        np.linalg.solve,
        both(well_conditioned(), real(-2, 2, (4, 3))),
        2,
        without_jax="it is not a primitive there",
    ),
    _row(
        "qr",
        qr_p,
        lambda lax, x: list(lax.linalg.qr(x, full_matrices=False)),
        lambda x: list(np.linalg.qr(x)),
        real(-2, 2, (5, 3)),
        2,
    ),
    _row(
        "qr complete",
        qr_p,
        lambda lax, x: list(lax.linalg.qr(x)),
        lambda x: list(np.linalg.qr(x, "complete")),
        real(-2, 2, (5, 3)),
        1,
    ),
    _row(
        "qr of a wide matrix, with pivots",
        qr_p,
        lambda lax, x: list(lax.linalg.qr(x, pivoting=True)),
        lambda x: list(scipy.linalg.qr(x, pivoting=True)),
        real(-2, 2, (3, 5)),
        1,
    ),
    _row(
        "geqrf",
        geqrf_p,
        lambda lax, x: list(geqrf(x)),
        lambda x: list(scipy.linalg.qr(x, mode="raw")[0]),
        real(-2, 2, (5, 3)),
        without_jax="it is not public there",
    ),
    _row(
        "geqp3",
        geqp3_p,
        lambda lax, x: list(geqp3(x, np.zeros(3, np.int32))),
        _raw_pivoted,
        real(-2, 2, (5, 3)),
        without_jax="it is not public there",
    ),
    _row(
        "householder_product",
        householder_product_p,
        lambda lax, a, t: lax.linalg.householder_product(a, t),
        lambda a, t: _full_q(a, t)[:, :3],
        _reflections(),
    ),
    _row(
        "ormqr",
        ormqr_p,
        lambda lax, a, t, c: lax.linalg.ormqr(a, t, c, transpose=True),
        lambda a, t, c: _full_q(a, t).T @ c,
        both(_reflections(), real(-2, 2, (5, 2))),
    ),
    _row(
        "eigh",
        eigh_p,
        lambda lax, x: [y * y for y in lax.linalg.eigh(x)],
        lambda x: [y * y for y in np.linalg.eigh((x + x.T) / 2)[::-1]],
        positive(),
        2,
    ),
    _row(
        "svd",
        svd_p,
        lambda lax, x: [y * y for y in lax.linalg.svd(x, full_matrices=False)],
        lambda x: [y * y for y in np.linalg.svd(x, full_matrices=False)],
        real(-2, 2, (4, 3)),
        1,
    ),
    _row(
        "svd without vectors",
        svd_p,
        lambda lax, x: lax.linalg.svd(x, compute_uv=False),
        lambda x: np.linalg.svd(x, compute_uv=False),
        real(-2, 2, (3, 4)),
        1,
    ),
    _row(
        "eig",
        eig_p,
        lambda lax, x: (
            lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[
                0
            ].real
        ),
        lambda x: np.linalg.eigvals(x).real,
        well_conditioned(),
        1,
    ),
    _row(
        "schur",
        schur_p,
        lambda lax, x: [y * y for y in lax.linalg.schur(x)],
        lambda x: [y * y for y in scipy.linalg.schur(x)],
        well_conditioned(),
    ),
    _row(
        "hessenberg",
        hessenberg_p,
        lambda lax, x: list(lax.linalg.hessenberg(x)),
        _hessenberg,
        well_conditioned(),
    ),
    _row(
        "tridiagonal",
        tridiagonal_p,
        lambda lax, x: list(lax.linalg.tridiagonal(x)),
        _tridiagonal,
        positive(),
    ),
    _row(
        "tridiagonal_solve",
        tridiagonal_solve_p,
        lambda lax, *xs: lax.linalg.tridiagonal_solve(*xs),
        _banded,
        both(real(-1, 1, (4,)), real(3, 5, (4,)), real(-1, 1, (4,)), real(-2, 2, (4, 2))),
        2,
    ),
    _row(
        "symmetric_product",
        symmetric_product_p,
        lambda lax, a, c: lax.linalg.symmetric_product(
            a, c, alpha=2.0, beta=0.5, symmetrize_output=True
        ),
        lambda a, c: 2 * a @ a.T + 0.5 * c,
        both(real(-2, 2, (4, 3)), positive()),
    ),
]
