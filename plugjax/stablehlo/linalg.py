"""Lowering of linear algebra: a call of LAPACK in XLA's runtime, or on the host if the program may call Python, else a decomposition.

XLA has its own Cholesky factorization and triangular solve. A decomposition is a program of other primitives
(``plugjax.lax.linalg.decompositions``), which becomes a function of the module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend import registry
from plugjax.extend.core import ClosedJaxpr, Primitive, ShapedArray, config, new_cache
from plugjax.extend.rules import RuleSet, impl, lowering
from plugjax.extend.transforms import dce, simplify, stage
from plugjax.lax.axes import is_symbolic
from plugjax.lax.linalg.cholesky import cholesky_p, cholesky_update_p
from plugjax.lax.linalg.decompositions import (
    jacobi,
    nonsymmetric,
    reflections,
    similarity,
    systems,
)
from plugjax.lax.linalg.eig import eig_p
from plugjax.lax.linalg.eigh import eigh_p
from plugjax.lax.linalg.householder import geqp3_p, geqrf_p, householder_product_p, ormqr_p
from plugjax.lax.linalg.lu import lu_p, lu_pivots_to_permutation_p
from plugjax.lax.linalg.qr import qr_p
from plugjax.lax.linalg.schur_hessenberg import hessenberg_p, schur_p
from plugjax.lax.linalg.solve import solve_p
from plugjax.lax.linalg.svd import svd_p
from plugjax.lax.linalg.symmetric_product import symmetric_product_p
from plugjax.lax.linalg.triangular_solve import triangular_solve_p
from plugjax.lax.linalg.tridiagonal import tridiagonal_p, tridiagonal_solve_p
from plugjax.stablehlo import mlir
from plugjax.stablehlo.context import EqnContext
from plugjax.stablehlo.host_call import fallback_policy, kernel_call
from plugjax.stablehlo.lapack import lapack, on_lapack
from plugjax.stablehlo.mlir import Value

rules = RuleSet(__name__)

_DECOMPOSITIONS: dict[Primitive, Callable[..., Any]] = {
    cholesky_p: systems.cholesky,
    cholesky_update_p: systems.cholesky_update,
    eig_p: nonsymmetric.eig,
    eigh_p: jacobi.eigh,
    geqp3_p: reflections.geqp3,
    geqrf_p: reflections.geqrf,
    hessenberg_p: similarity.hessenberg,
    householder_product_p: reflections.householder_product,
    lu_p: systems.lu,
    lu_pivots_to_permutation_p: systems.lu_pivots_to_permutation,
    ormqr_p: reflections.ormqr,
    qr_p: reflections.qr,
    schur_p: nonsymmetric.schur,
    solve_p: systems.solve,
    svd_p: jacobi.svd,
    symmetric_product_p: systems.symmetric_product,
    triangular_solve_p: systems.triangular_solve,
    tridiagonal_p: similarity.tridiagonal,
    tridiagonal_solve_p: systems.tridiagonal_solve,
}

_NATIVE_SIZE = 16
_programs = new_cache()


def by_host_or_program(ctx: EqnContext, *operands: Value, **params: Any) -> Sequence[Value]:
    """LAPACK, or the decomposition if the program cannot or may not call Python.

    Raises:
        LoweringError: the program cannot call Python, and the primitive has no decomposition.
    """
    primitive = ctx.primitive
    if on_lapack(ctx):
        return lapack(ctx, *operands, **params)
    kernel = registry.table(impl).find(primitive)
    decomposition = _DECOMPOSITIONS.get(primitive)
    on_host = kernel is not None and _may_call_host(ctx)
    if (on_host and not _made_of_calls(ctx)) or decomposition is None:
        return ctx.host_call(kernel_call(ctx.eqn, kernel or _no_kernel), operands)
    program = _program(decomposition, tuple(ctx.avals_in), params, primitive.name)
    return ctx.call(program, operands, primitive.name)


_SHORT = (cholesky_update_p, lu_pivots_to_permutation_p, solve_p, symmetric_product_p)


def _made_of_calls(ctx: EqnContext) -> bool:
    """Whether a decomposition is short: it consists of calls of LAPACK, of products, or of steps along one axis."""
    on_xla = ctx.platform == "xla" and ctx.module.device_kind == "cpu"
    return on_xla and ctx.primitive in _SHORT


def _may_call_host(ctx: EqnContext) -> bool:
    reachable = ctx.module.emit_host_call is not None
    return reachable and fallback_policy(ctx.primitive, ctx.platform) != "error"


def _no_kernel(*_: Any, **__: Any) -> Any:
    raise RuntimeError("no package that brings host kernels is installed")


def _program(
    decomposition: Callable[..., Any],
    avals: tuple[ShapedArray, ...],
    params: dict[str, Any],
    name: str,
) -> ClosedJaxpr:
    key = (config.fingerprint, name, avals, tuple(sorted(params.items(), key=lambda p: p[0])))
    found: ClosedJaxpr | None = _programs.get(key)
    if found is None:

        def flat(*xs: Any) -> list[Any]:
            out = decomposition(*xs, **params)
            return list(out) if isinstance(out, (list, tuple)) else [out]

        found = _programs[key] = dce(simplify(stage(flat, avals, name)))
    return found


rules.define(
    lowering,
    *(p for p in _DECOMPOSITIONS if p not in (cholesky_p, triangular_solve_p)),
)(by_host_or_program)


@rules.define(lowering, cholesky_p)
def _cholesky(ctx: EqnContext, x: Value) -> Any:
    if on_lapack(ctx):
        return lapack(ctx, x)
    size = ctx.avals_in[0].shape[-1]
    large = not is_symbolic(size) and size > _NATIVE_SIZE
    if large and ctx.module.device_kind == "cpu" and _may_call_host(ctx):
        return by_host_or_program(ctx, x)
    return mlir.value("stablehlo.cholesky", ctx.avals_out[0], [x], {"lower": mlir.boolean(True)})


@rules.define(lowering, triangular_solve_p)
def _triangular_solve(
    ctx: EqnContext,
    a: Value,
    b: Value,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Value:
    if conjugate_a and not transpose_a:
        a = mlir.value("chlo.conj", ctx.avals_in[0], [a])
    if on_lapack(ctx):
        (found,) = lapack(ctx, a, b, **ctx.eqn.params)
        return found
    kind = ("ADJOINT" if conjugate_a else "TRANSPOSE") if transpose_a else "NO_TRANSPOSE"
    attributes = {
        "left_side": mlir.boolean(left_side),
        "lower": mlir.boolean(lower),
        "unit_diagonal": mlir.boolean(unit_diagonal),
        "transpose_a": mlir.attribute(f"#stablehlo<transpose {kind}>"),
    }
    return mlir.value("stablehlo.triangular_solve", ctx.avals_out[0], [a, b], attributes)
