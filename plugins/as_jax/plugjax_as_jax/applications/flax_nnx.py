"""A convolutional classifier by flax.nnx, with batch statistics and dropout; split, merged, and a vmapped ensemble."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from plugjax_as_jax.applications import marks

TOLERANCE = 2e-3


class Classifier(nnx.Module):
    """Two convolutions and a head."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        # No bias: its derivative through the statistics is rounding alone, which adam makes as large as the others.
        self.first = nnx.Conv(1, 8, kernel_size=(3, 3), use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.second = nnx.Conv(8, 8, kernel_size=(3, 3), strides=2, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.head = nnx.Linear(8, 4, rngs=rngs)
        self.calls = nnx.Variable(jnp.zeros((), jnp.int32))

    def __call__(self, images: Any) -> Any:
        """Logits."""
        self.calls[...] += 1
        x = nnx.relu(self.norm(self.first(images)))
        x = nnx.relu(self.second(x)).mean(axis=(1, 2))
        return self.head(self.dropout(x))


def images(step: int) -> tuple[Any, Any]:
    """Noise with a bright quarter, and which quarter it is."""
    key, noise = jax.random.split(jax.random.fold_in(jax.random.key(3), step))
    labels = jax.random.randint(key, (32,), 0, 4)
    rows, columns = jnp.arange(8) // 4, jnp.arange(8) // 4
    quarter = 2 * rows[:, None] + columns[None, :]
    bright = (quarter[None] == labels[:, None, None]).astype(jnp.float32)
    return (bright + 0.3 * jax.random.normal(noise, (32, 8, 8)))[..., None], labels


@nnx.jit
def train(model: Classifier, optimizer: nnx.Optimizer, x: Any, labels: Any) -> Any:
    """One step; the model changes in place."""

    def loss(model: Classifier) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(model(x), labels).mean()

    value, gradient = nnx.value_and_grad(loss)(model)
    optimizer.update(model, gradient)
    return value


def run() -> dict[str, Any]:
    """Losses, statistics, and what an ensemble of models says."""
    model = Classifier(nnx.Rngs(0, dropout=1))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    losses = [float(train(model, optimizer, *images(step))) for step in marks.steps(12)]
    model.eval()
    graph, params, rest = nnx.split(model, nnx.Param, ...)
    merged = nnx.merge(graph, params, rest)
    x, labels = images(99)
    logits = merged(x)

    @nnx.split_rngs(splits=3)
    @nnx.vmap(in_axes=(0,), out_axes=0)
    def make(rngs: nnx.Rngs) -> nnx.Linear:
        return nnx.Linear(4, 2, rngs=rngs)

    ensemble = make(nnx.Rngs(7))
    answers = nnx.vmap(lambda m, y: m(y), in_axes=(0, None))(ensemble, logits[:2])
    return {
        "losses": losses,
        "mean": model.norm.mean[...].tolist(),
        "calls": int(model.calls[...]),
        "accuracy": float((logits.argmax(-1) == labels).mean()),
        "logits": logits[0].tolist(),
        "ensemble": answers.ravel().tolist(),
        "weights": sum(x.size for x in jax.tree.leaves(params)),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
