"""A model of flax over a mesh of 8 devices: parameters split by their annotations, batches by theirs, in linen and nnx."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from plugjax_as_jax.applications import marks

TOLERANCE = 1e-3
DEVICES = 8

# Before anything asks for devices.
jax.config.update("jax_num_cpu_devices", DEVICES)


class Perceptron(nn.Module):
    """Two layers: the hidden units lie along ``model``."""

    @nn.compact
    def __call__(self, x: Any) -> Any:
        """Predictions."""
        init = nn.initializers.lecun_normal()
        x = nn.Dense(16, kernel_init=nn.with_partitioning(init, (None, "model")))(x)
        x = nn.gelu(x)
        return nn.Dense(2, kernel_init=nn.with_partitioning(init, ("model", None)))(x)


class Layer(nnx.Module):
    """The same two layers, annotated as nnx does."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        init = nnx.initializers.lecun_normal()
        up = nnx.with_partitioning(init, (None, "model"))
        down = nnx.with_partitioning(init, ("model", None))
        self.up = nnx.Linear(6, 16, kernel_init=up, rngs=rngs)
        self.down = nnx.Linear(16, 2, kernel_init=down, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        """Predictions."""
        return self.down(nnx.gelu(self.up(x)))


def batch(step: int) -> tuple[Any, Any]:
    """Inputs, and a smooth function of them."""
    x = jax.random.normal(jax.random.fold_in(jax.random.key(5), step), (32, 6))
    return x, jnp.stack([jnp.sin(x[:, 0]) + x[:, 1], x[:, 2] * x[:, 3]], axis=1)


def loss_of(prediction: Any, y: Any) -> Any:
    """Mean square."""
    return jnp.mean((prediction - y) ** 2)


def linen(mesh: Mesh) -> dict[str, Any]:
    """Training with shardings that the annotations give."""
    model, optimizer = Perceptron(), optax.adam(3e-2)

    def init(key: Any) -> Any:
        variables = model.init(key, jnp.zeros((1, 6)))
        return variables, optimizer.init(variables)

    specs = nn.get_partition_spec(jax.eval_shape(init, jax.random.key(0)))
    shardings = jax.tree.map(
        lambda spec: NamedSharding(mesh, spec),
        specs,
        is_leaf=lambda x: isinstance(x, PartitionSpec),
    )
    rows = NamedSharding(mesh, PartitionSpec("data"))
    whole = NamedSharding(mesh, PartitionSpec())
    state = jax.jit(init, out_shardings=shardings)(jax.random.key(0))

    def train(state: Any, x: Any, y: Any) -> Any:
        variables, moments = state
        value, gradient = jax.value_and_grad(lambda v: loss_of(model.apply(v, x), y))(variables)
        updates, moments = optimizer.update(gradient, moments, variables)
        return (optax.apply_updates(variables, updates), moments), value

    step = jax.jit(train, in_shardings=(shardings, rows, rows), out_shardings=(shardings, whole))
    losses = []
    for i in marks.steps(12):
        state, value = step(state, *jax.device_put(batch(i), rows))
        losses.append(float(value))
    kernel = nn.meta.unbox(state[0])["params"]["Dense_0"]["kernel"]
    return {
        "linen losses": losses,
        "linen shard": list(kernel.addressable_shards[0].data.shape),
        "linen shards": len(kernel.addressable_shards),
        "linen kernel": np.asarray(kernel)[0].tolist(),
    }


def annotated(mesh: Mesh) -> dict[str, Any]:
    """The same with nnx: the state gets the shardings of its annotations inside of a compiled function."""

    @nnx.jit
    def make() -> Layer:
        model = Layer(nnx.Rngs(0))
        state = nnx.state(model)
        nnx.update(model, jax.lax.with_sharding_constraint(state, nnx.get_partition_spec(state)))
        return model

    @nnx.jit
    def train(model: Layer, optimizer: nnx.Optimizer, x: Any, y: Any) -> Any:
        value, gradient = nnx.value_and_grad(lambda m: loss_of(m(x), y))(model)
        optimizer.update(model, gradient)
        return value

    with jax.set_mesh(mesh):
        model = make()
        optimizer = nnx.Optimizer(model, optax.adam(3e-2), wrt=nnx.Param)
        rows = NamedSharding(mesh, PartitionSpec("data"))
        losses = [float(train(model, optimizer, *jax.device_put(batch(i), rows))) for i in range(8)]
    kernel = model.up.kernel[...]
    return {
        "nnx losses": losses,
        "nnx shard": list(kernel.addressable_shards[0].data.shape),
        "nnx kernel": np.asarray(kernel)[0].tolist(),
    }


def run() -> dict[str, Any]:
    """Losses, and how the parameters are spread."""
    mesh = Mesh(np.array(jax.devices()[:DEVICES]).reshape(2, 4), ("data", "model"))
    return {**linen(mesh), **annotated(mesh)}


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
