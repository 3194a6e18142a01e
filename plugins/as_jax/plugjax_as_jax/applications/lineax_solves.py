"""Linear systems by lineax: operators of several kinds, solvers, least squares, and derivatives of solutions."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import lineax as lx

from plugjax_as_jax.applications import marks

TOLERANCE = 2e-3


def run() -> dict[str, Any]:
    """Solutions and derivatives."""
    a = jax.random.normal(jax.random.key(0), (4, 4)) + 4.0 * jnp.eye(4)
    b = jnp.arange(1.0, 5.0)
    spd = a @ a.T

    @jax.jit
    def solve(a: Any, b: Any) -> Any:
        return lx.linear_solve(lx.MatrixLinearOperator(a), b, lx.LU()).value

    for _ in marks.steps(10):
        plain = solve(a, b)
    slope = jax.grad(lambda a: solve(a, b).sum())(a)
    positive = lx.MatrixLinearOperator(spd, lx.positive_semidefinite_tag)
    gradients = lx.linear_solve(positive, b, lx.CG(rtol=1e-5, atol=1e-5)).value
    cholesky = lx.linear_solve(positive, b, lx.Cholesky()).value
    minimal = lx.linear_solve(lx.MatrixLinearOperator(a), b, lx.GMRES(rtol=1e-5, atol=1e-5)).value
    tall = jax.random.normal(jax.random.key(1), (6, 3))
    squares = lx.linear_solve(lx.MatrixLinearOperator(tall), jnp.arange(6.0), lx.QR()).value
    singular = lx.linear_solve(lx.MatrixLinearOperator(tall.T), jnp.ones(3), lx.SVD()).value
    tridiagonal = lx.TridiagonalLinearOperator(jnp.full(4, 4.0), jnp.ones(3), -jnp.ones(3))
    banded = lx.linear_solve(tridiagonal, b).value

    def nonlinear(y: Any, args: Any) -> Any:
        return {"p": y["p"] ** 2 + y["q"].sum(), "q": jnp.sin(y["q"]) * y["p"]}

    at = {"p": jnp.array(1.5), "q": jnp.array([0.2, 0.4])}
    jacobian = lx.JacobianLinearOperator(nonlinear, at)
    step = lx.linear_solve(
        jacobian, {"p": jnp.array(1.0), "q": jnp.ones(2)}, lx.AutoLinearSolver(well_posed=True)
    )
    composed = lx.linear_solve(
        lx.DiagonalLinearOperator(b)
        @ lx.IdentityLinearOperator(jax.ShapeDtypeStruct((4,), jnp.float32)),
        jnp.ones(4),
    ).value
    batched = jax.vmap(lambda shift: solve(a + shift * jnp.eye(4), b))(jnp.arange(3.0))
    return {
        "plain": plain.tolist(),
        "slope": slope.ravel().tolist(),
        "conjugate": gradients.tolist(),
        "cholesky": cholesky.tolist(),
        "gmres": minimal.tolist(),
        "squares": squares.tolist(),
        "singular": singular.tolist(),
        "banded": banded.tolist(),
        "newton": [float(step.value["p"]), *step.value["q"].tolist()],
        "composed": composed.tolist(),
        "batched": batched.ravel().tolist(),
        "symmetric": int(lx.is_symmetric(lx.MatrixLinearOperator(spd, lx.symmetric_tag))),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
