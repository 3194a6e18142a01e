"""Fully sharded data parallel training: each of eight devices keeps an eighth of the weights.

A step gathers the weights that it needs. The transpose of the gathering is a sum that leaves each device its part of the
gradient, so that the update touches this part only (Rajbhandari et al., 2020, "ZeRO").
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import numpy as np

import plugjax as jax
import plugjax.numpy as jnp
from plugjax import lax, nn
from plugjax.cli import digits
from plugjax.experimental.multihost_utils import process_allgather

P = jax.P
SIZES = (64, 128, 16)
BATCH, STEPS, RATE = 64, 60, 0.2


def loss(weights: list[Any], images: Any, labels: Any) -> Any:
    """Mean cross entropy, in nats."""
    x = images
    for matrix in weights[:-1]:
        x = nn.relu(x @ matrix)
    scores = nn.log_softmax(x @ weights[-1])
    return -jnp.mean(jnp.sum(scores * nn.one_hot(labels, SIZES[-1]), axis=-1))


def step(weights: list[Any], images: Any, labels: Any) -> tuple[list[Any], Any]:
    """One step of gradient descent on one device."""
    value, gradient = jax.value_and_grad(loss)(weights, images, labels)
    return [w - RATE * g for w, g in zip(weights, gradient, strict=True)], value


def sharded_step(weights: list[Any], images: Any, labels: Any) -> tuple[list[Any], Any]:
    """The same as one device of several sees it: its rows of each matrix, its images."""

    def of_parts(parts: list[Any]) -> Any:
        whole = [lax.all_gather(part, "data", tiled=True) for part in parts]
        return lax.pmean(loss(whole, images, labels), "data")

    value, gradient = jax.value_and_grad(of_parts)(weights)
    return [w - RATE * g for w, g in zip(weights, gradient, strict=True)], value


def main() -> None:
    """Train on one device and on eight."""
    if "PLUGJAX_COORDINATOR_ADDRESS" in os.environ:  # plugjax launch -n 2 --devices 4
        jax.distributed.initialize()
    else:
        jax.config.update("jax_num_cpu_devices", 8)
    mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    data = digits.load()
    rng = np.random.default_rng(0)
    weights = [
        (rng.normal(size=(m, n)) * (2 / m) ** 0.5).astype(np.float32) for m, n in pairwise(SIZES)
    ]
    spread = [jax.device_put(w, jax.NamedSharding(mesh, P("data"))) for w in weights]
    parallel = jax.jit(
        jax.shard_map(
            sharded_step,
            mesh=mesh,
            in_specs=([P("data")] * 2, P("data"), P("data")),
            out_specs=([P("data")] * 2, P()),
        )
    )
    alone = jax.jit(step)
    for i in range(STEPS):
        chosen = np.arange(i * BATCH, (i + 1) * BATCH) % len(data.train_labels)
        batch = data.train_images[chosen], data.train_labels[chosen]
        weights, value = alone(weights, *batch)
        spread, value_spread = parallel(spread, *batch)
    apart = max(
        float(np.max(np.abs(np.asarray(a) - process_allgather(b, tiled=True))))
        for a, b in zip(weights, spread, strict=True)
    )
    print(f"loss on one device: {float(value):.4f}, on {mesh.size}: {float(value_spread):.4f}")
    print(f"weights of one device: {[w.addressable_shards[0].data.shape for w in spread]}")
    print(f"largest difference: {apart:.1e}")


if __name__ == "__main__":
    main()
