"""Solvers by jaxopt: ridge regression with the derivative of its solution, L-BFGS, projections, a fixed point."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jaxopt

from plugjax_as_jax.applications import marks

TOLERANCE = 2e-3


def run() -> dict[str, Any]:
    """Solutions, and derivatives through them by the implicit function theorem."""
    a = jax.random.normal(jax.random.key(0), (20, 5))
    b = a @ jnp.arange(1.0, 6.0) + 0.1 * jax.random.normal(jax.random.key(1), (20,))

    def ridge(w: Any, weight: Any) -> Any:
        return jnp.mean((a @ w - b) ** 2) + weight * jnp.sum(w**2)

    solver = jaxopt.LBFGS(ridge, maxiter=50, tol=1e-5)
    found = solver.run(jnp.zeros(5), 0.1)
    marks.first_result()
    jacobian = jax.jacrev(lambda weight: solver.run(jnp.zeros(5), weight).params)(0.1)

    descent = jaxopt.GradientDescent(ridge, maxiter=200, stepsize=0.05, acceleration=True)
    slow = descent.run(jnp.zeros(5), 0.1).params

    box = jaxopt.ProjectedGradient(ridge, jaxopt.projection.projection_box, maxiter=100)
    boxed = box.run(jnp.zeros(5), (jnp.zeros(5), jnp.full(5, 2.5)), 0.1).params
    simplex = jaxopt.projection.projection_simplex(jnp.array([0.3, 1.2, -0.4]))
    sparse = jaxopt.ProximalGradient(
        lambda w: jnp.mean((a @ w - b) ** 2), jaxopt.prox.prox_lasso, maxiter=100
    ).run(jnp.zeros(5), 0.5)

    def kepler(x: Any, excentricity: Any) -> Any:
        return 1.0 + excentricity * jnp.sin(x)

    point = jaxopt.FixedPointIteration(kepler, maxiter=50, tol=1e-5, implicit_diff=True)
    anomaly, slope = jax.value_and_grad(lambda e: point.run(jnp.array(1.0), e).params)(0.3)
    root = jaxopt.Bisection(lambda x: x**3 - x - 2.0, 1.0, 2.0, maxiter=40).run().params

    newton = jax.jit(lambda w: solver.update(w, solver.init_state(w, 0.1), 0.1))
    for _ in marks.steps(10):
        stepped = newton(jnp.ones(5))
    return {
        "lbfgs": found.params.tolist(),
        "jacobian": jacobian.tolist(),
        "descent": slow.tolist(),
        "boxed": boxed.tolist(),
        "simplex": simplex.tolist(),
        "lasso": sparse.params.tolist(),
        "anomaly": float(anomaly),
        "slope": float(slope),
        "root": float(root),
        "stepped": stepped.params.tolist(),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
