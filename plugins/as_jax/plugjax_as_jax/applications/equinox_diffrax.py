"""A neural differential equation by equinox and diffrax, trained through the solver by its adjoint."""

from __future__ import annotations

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from plugjax_as_jax.applications import marks

TOLERANCE = 3e-3


class Field(eqx.Module):
    """The right-hand side."""

    layers: eqx.nn.MLP
    scale: jax.Array

    def __init__(self, key: Any) -> None:
        self.layers = eqx.nn.MLP(2, 2, 16, 1, activation=jnp.tanh, key=key)
        self.scale = jnp.ones(())

    def __call__(self, t: Any, y: Any, args: Any) -> Any:
        """The derivative of ``y``."""
        return self.scale * self.layers(y)


def solve(field: Any, y0: Any, times: Any) -> Any:
    """The solution at some times."""
    found = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        t0=times[0],
        t1=times[-1],
        dt0=0.1,
        y0=y0,
        stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-5),
        saveat=diffrax.SaveAt(ts=times),
        max_steps=64,
    )
    return found.ys


@eqx.filter_value_and_grad
def loss(field: Field, starts: Any, times: Any, wanted: Any) -> Any:
    """The mean square error over all starts."""
    found = jax.vmap(lambda y0: solve(field, y0, times))(starts)
    return jnp.mean((found - wanted) ** 2)


def run() -> dict[str, Any]:
    """Losses, a solution, and an error that a program raises by itself."""
    times = jnp.linspace(0.0, 2.0, 6)
    starts = jax.random.normal(jax.random.key(0), (4, 2))
    turned = jnp.stack([jnp.cos(times), jnp.sin(times)])
    x, y = starts[:, 0, None], starts[:, 1, None]
    wanted = jnp.stack([x * turned[0] - y * turned[1], x * turned[1] + y * turned[0]], axis=-1)
    field = Field(jax.random.key(1))
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(field, eqx.is_array))

    @eqx.filter_jit
    def train(field: Field, state: Any) -> Any:
        value, gradient = loss(field, starts, times, wanted)
        updates, state = optimizer.update(gradient, state)
        return value, eqx.apply_updates(field, updates), state

    losses = []
    for _ in marks.steps(8):
        value, field, state = train(field, state)
        losses.append(float(value))
    found = solve(field, starts[0], times)

    @eqx.filter_jit
    def checked(x: Any) -> Any:
        return eqx.error_if(x, x < 0, "negative")

    try:
        checked(jnp.array(-1.0))
        refused = ""
    except RuntimeError as error:
        refused = str(error)
    return {
        "losses": losses,
        "solution": found.ravel().tolist(),
        "refused": int("negative" in refused),
        "passed": float(checked(jnp.array(2.0))),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
