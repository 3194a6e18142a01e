"""A transformer by flax.linen that learns to sort digits, trained by optax, stopped, and continued from orbax's checkpoint."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp
from flax.training.train_state import TrainState

from plugjax_as_jax.applications import marks

TOLERANCE = 2e-3
LENGTH, DIGITS, WIDTH = 8, 8, 32


class Block(nn.Module):
    """Attention and a feed-forward layer, each around a residual."""

    @nn.compact
    def __call__(self, x: Any, *, train: bool) -> Any:
        """One block."""
        y = nn.LayerNorm()(x)
        y = nn.MultiHeadDotProductAttention(num_heads=4, qkv_features=WIDTH)(y, y)
        x = x + nn.Dropout(0.1, deterministic=not train)(y)
        y = nn.LayerNorm()(x)
        y = nn.Dense(WIDTH)(nn.gelu(nn.Dense(2 * WIDTH)(y)))
        return x + y


class Sorter(nn.Module):
    """Logits of the sorted digits, given the digits."""

    @nn.compact
    def __call__(self, digits: Any, *, train: bool) -> Any:
        """Two blocks between an embedding and its head."""
        places = self.param("places", nn.initializers.normal(0.02), (LENGTH, WIDTH))
        x = nn.Embed(DIGITS, WIDTH)(digits) + places
        for _ in range(2):
            x = Block()(x, train=train)
        return nn.Dense(DIGITS)(nn.LayerNorm()(x))


def start() -> TrainState:
    """Initial weights, with their optimizer."""
    model = Sorter()
    variables = model.init(jax.random.key(0), jnp.zeros((1, LENGTH), jnp.int32), train=False)
    schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 5, 60)
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-3)
    )
    return TrainState.create(apply_fn=model.apply, params=variables["params"], tx=optimizer)


@jax.jit
def train(state: TrainState, step: Any) -> tuple[TrainState, Any]:
    """One step on digits that are drawn for it."""
    key, noise = jax.random.split(jax.random.fold_in(jax.random.key(1), step))
    digits = jax.random.randint(key, (32, LENGTH), 0, DIGITS)

    def loss(params: Any) -> Any:
        logits = state.apply_fn({"params": params}, digits, train=True, rngs={"dropout": noise})
        return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.sort(digits)).mean()

    value, gradient = jax.value_and_grad(loss)(state.params)
    return state.apply_gradients(grads=gradient), value


def run() -> dict[str, Any]:
    """Losses on the way, and those after a restart."""
    state = start()
    losses = []
    for step in marks.steps(12):
        state, loss = train(state, step)
        losses.append(float(loss))
    with tempfile.TemporaryDirectory() as folder:
        checkpointer = ocp.StandardCheckpointer()
        saved = {"params": state.params, "opt_state": state.opt_state, "step": state.step}
        checkpointer.save(Path(folder) / "weights", saved)
        checkpointer.wait_until_finished()
        fresh = start()
        like = {"params": fresh.params, "opt_state": fresh.opt_state, "step": state.step}
        restored = checkpointer.restore(Path(folder) / "weights", like)
    again = fresh.replace(**restored)
    restarted = []
    for step in range(12, 15):
        state, loss = train(state, step)
        again, loss_again = train(again, step)
        losses.append(float(loss))
        restarted.append(float(loss_again))
    norm = optax.global_norm(again.params)
    return {"losses": losses, "restarted": restarted, "norm": float(norm)}


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
