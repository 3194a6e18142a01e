"""Roots, least squares, minima and fixed points by optimistix, batched and differentiated implicitly."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optimistix as optx

from plugjax_as_jax.applications import marks

TOLERANCE = 2e-3


def run() -> dict[str, Any]:
    """Solutions and their derivatives."""

    def equation(y: Any, target: Any) -> Any:
        return jnp.array([y[0] ** 2 + y[1] - target, y[1] ** 3 - y[0] + 1.0])

    newton = optx.Newton(rtol=1e-5, atol=1e-5)

    @jax.jit
    def roots(targets: Any) -> Any:
        def solve(target: Any) -> Any:
            return optx.root_find(equation, newton, jnp.array([1.5, 0.5]), args=target).value

        return jax.vmap(solve)(targets), jax.vmap(jax.jacfwd(solve))(targets)

    targets = jnp.array([2.0, 3.0, 4.0])
    for _ in marks.steps(10):
        found, slopes = roots(targets)

    times = jnp.linspace(0.0, 2.0, 12)
    measured = 2.0 * jnp.exp(-1.3 * times) + 0.05 * jnp.sin(9.0 * times)

    def residual(y: Any, measured: Any) -> Any:
        return y[0] * jnp.exp(-y[1] * times) - measured

    marquardt = optx.LevenbergMarquardt(rtol=1e-5, atol=1e-5)

    def fit(measured: Any) -> Any:
        return optx.least_squares(residual, marquardt, jnp.array([1.0, 1.0]), args=measured).value

    fitted = fit(measured)
    influence = jax.jacrev(fit)(measured)
    minimum = optx.minimise(
        lambda y, _: (y[0] - 1.0) ** 2 + 5.0 * (y[1] - y[0] ** 2) ** 2,
        optx.BFGS(rtol=1e-5, atol=1e-5),
        jnp.array([-0.5, 1.0]),
    )
    fixed = optx.fixed_point(
        lambda y, a: a * jnp.cos(y),
        optx.FixedPointIteration(rtol=1e-5, atol=1e-5),
        jnp.array(0.5),
        args=0.9,
    )
    failed = optx.root_find(
        lambda y, _: y**2 + 1.0, newton, jnp.array(0.7), max_steps=8, throw=False
    )
    return {
        "roots": found.ravel().tolist(),
        "slopes": slopes.ravel().tolist(),
        "fitted": fitted.tolist(),
        "influence": influence.ravel().tolist(),
        "minimum": minimum.value.tolist(),
        "fixed": float(fixed.value),
        "failed": int(failed.result != optx.RESULTS.successful),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
