"""Data parallel training: each of eight devices has all weights and a share of each batch of images.

The step is that of ``plugjax demo``, written for one device. Only the shardings of its arguments differ: the compiler
adds the sum of the gradients over the devices.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import plugjax as jax
import plugjax.numpy as jnp
from plugjax.cli import classifier, digits
from plugjax.experimental.multihost_utils import process_allgather

P = jax.P
EPOCHS = 4


def train(data: digits.Split, batches: Any, whole: Any) -> tuple[Any, float]:
    """Weights after training, and the accuracy on the test images.

    Args:
        data: the images.
        batches: how a batch is placed.
        whole: how the state is placed.
    """
    weights = classifier.init(jax.random.key(0))
    moments = [jax.tree.map(jnp.zeros_like, weights) for _ in range(2)]
    state = jax.device_put((weights, *moments, jnp.zeros(())), whole)
    step = jax.jit(classifier.train_step, donate_argnums=0)
    for epoch in range(EPOCHS):
        order = np.random.default_rng(epoch).permutation(len(data.train_labels))
        for first in range(0, len(order) - classifier.BATCH + 1, classifier.BATCH):
            chosen = order[first : first + classifier.BATCH]
            batch = jax.device_put((data.train_images[chosen], data.train_labels[chosen]), batches)
            state, _ = step(state, *batch)
    predicted = jax.jit(classifier.predict)(state[0], data.test_images)
    return state[0], float(np.mean(np.asarray(predicted) == data.test_labels))


def main() -> None:
    """Train on one device and on eight."""
    if "PLUGJAX_COORDINATOR_ADDRESS" in os.environ:  # plugjax launch -n 2 --devices 4
        jax.distributed.initialize()
    else:
        jax.config.update("jax_num_cpu_devices", 8)
    mesh = jax.make_mesh((8,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    data = digits.load()
    one = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    weights, accuracy = train(data, one, one)
    spread, accuracy_spread = train(
        data, jax.NamedSharding(mesh, P("data")), jax.NamedSharding(mesh, P())
    )
    pairs = zip(jax.tree.leaves(weights), jax.tree.leaves(spread), strict=True)
    apart = max(
        float(np.max(np.abs(np.asarray(a) - process_allgather(b, tiled=True)))) for a, b in pairs
    )
    print(f"accuracy on one device: {100 * accuracy:.2f} %")
    print(f"accuracy on {mesh.size}: {100 * accuracy_spread:.2f} %")
    print(f"largest difference: {apart:.1e}")


if __name__ == "__main__":
    main()
