"""optax: many optimizers on one function, schedules, losses, and updates that are masked or accumulated."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from plugjax_as_jax.applications import marks

TOLERANCE = 1e-3
OPTIMIZERS = {
    "adabelief": optax.adabelief(0.05),
    "adafactor": optax.adafactor(0.05, min_dim_size_to_factor=2),
    "adam": optax.adam(optax.cosine_decay_schedule(0.1, 20)),
    "adamw": optax.adamw(0.05, mask={"w": True, "b": False}),
    "lamb": optax.lamb(0.05),
    "lion": optax.lion(0.02),
    "lookahead": optax.sgd(0.02, momentum=0.9, nesterov=True),
    "noisy": optax.noisy_sgd(0.02, seed=3),
    "rmsprop": optax.rmsprop(0.02, centered=True),
    "chain": optax.chain(optax.clip(0.5), optax.ema(0.9), optax.scale(-0.05), optax.zero_nans()),
    "steps": optax.MultiSteps(optax.adam(0.1), 2),
    "parts": optax.multi_transform(
        {"x": optax.adam(0.1), "y": optax.set_to_zero()}, {"w": "x", "b": "y"}
    ),
}


def loss(params: Any) -> Any:
    """A bent valley."""
    return jnp.sum((params["w"] - 1.0) ** 2) + 3.0 * jnp.sum(
        (params["b"] - params["w"][0] ** 2) ** 2
    )


def run() -> dict[str, Any]:
    """Losses after some steps of each."""
    start = {"w": jnp.array([[0.5, -1.0], [2.0, 0.3]]), "b": jnp.array([0.2, -0.4])}
    found: dict[str, Any] = {}
    for name, optimizer in OPTIMIZERS.items():

        @jax.jit
        def train(params: Any, state: Any, optimizer: Any = optimizer) -> Any:
            value, gradient = jax.value_and_grad(loss)(params)
            updates, state = optimizer.update(gradient, state, params)
            return optax.apply_updates(params, updates), state, value

        params, state = start, optimizer.init(start)
        for _ in marks.steps(8):
            params, state, value = train(params, state)
        found[name] = float(value)

    search = optax.lbfgs()
    params, state = start, search.init(start)
    value_and_grad = optax.value_and_grad_from_state(loss)

    @jax.jit
    def newton(params: Any, state: Any) -> Any:
        value, gradient = value_and_grad(params, state=state)
        updates, state = search.update(
            gradient, state, params, value=value, grad=gradient, value_fn=loss
        )
        return optax.apply_updates(params, updates), state, value

    for _ in range(4):
        params, state, value = newton(params, state)
    logits, labels = jnp.array([[1.0, -1.0, 0.5], [0.2, 0.1, 0.0]]), jnp.array([0, 2])
    distances = optax.losses.cosine_distance(logits[0], logits[1])
    return {
        **found,
        "lbfgs": float(value),
        "schedule": [
            float(optax.warmup_exponential_decay_schedule(0.1, 1.0, 4, 10, 0.5)(s))
            for s in range(8)
        ],
        "entropy": optax.softmax_cross_entropy_with_integer_labels(logits, labels).tolist(),
        "focal": optax.sigmoid_focal_loss(logits, jnp.ones_like(logits)).ravel().tolist(),
        "huber": optax.huber_loss(logits, 0.0).ravel().tolist(),
        "ctc": optax.ctc_loss(
            jnp.ones((1, 4, 3)), jnp.zeros((1, 4)), jnp.array([[1, 2]]), jnp.zeros((1, 2))
        ).tolist(),
        "cosine": float(distances),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
