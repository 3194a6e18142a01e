"""A recurrent network by haiku with a running state, which learns to continue a wave."""

from __future__ import annotations

from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import optax

from plugjax_as_jax.applications import marks

TOLERANCE = 2e-3


def network(wave: Any) -> Any:
    """The next value at each time; ``wave`` is ``[time, batch]``."""
    core = hk.DeepRNN([hk.LSTM(16), jax.nn.tanh, hk.GRU(16)])
    state = core.initial_state(wave.shape[1])
    outputs, _ = hk.dynamic_unroll(core, wave[..., None], state)
    outputs = hk.BatchApply(hk.LayerNorm(-1, True, True))(outputs)
    seen = hk.get_state("seen", (), jnp.float32, jnp.zeros)
    hk.set_state("seen", seen + wave.shape[1])
    noise = jax.random.normal(hk.next_rng_key(), outputs.shape)
    return hk.Linear(1, w_init=hk.initializers.VarianceScaling())(outputs + 0.01 * noise)[..., 0]


def run() -> dict[str, Any]:
    """Losses, the state, and the names of the weights."""
    model = hk.transform_with_state(network)
    time = jnp.linspace(0.0, 6.0, 20)[:, None] + jnp.arange(8.0)[None, :]
    wave = jnp.sin(time)
    params, state = model.init(jax.random.PRNGKey(0), wave)
    optimizer = optax.rmsprop(3e-3, momentum=0.5)
    opt_state = optimizer.init(params)

    @jax.jit
    def train(params: Any, state: Any, opt_state: Any, key: Any) -> Any:
        def loss(params: Any) -> Any:
            answer, new_state = model.apply(params, state, key, wave[:-1])
            return jnp.mean((answer - wave[1:]) ** 2), new_state

        (value, new_state), gradient = jax.value_and_grad(loss, has_aux=True)(params)
        updates, opt_state = optimizer.update(gradient, opt_state)
        return optax.apply_updates(params, updates), new_state, opt_state, value

    keys = hk.PRNGSequence(1)
    losses = []
    for _ in marks.steps(12):
        params, state, opt_state, value = train(params, state, opt_state, next(keys))
        losses.append(float(value))
    return {
        "losses": losses,
        "seen": float(jax.tree.leaves(state)[0]),
        "weights": hk.data_structures.tree_size(params),
        "modules": len(params),
        "norm": float(optax.global_norm(params)),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
