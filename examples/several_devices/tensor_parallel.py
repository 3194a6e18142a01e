"""A tensor parallel perceptron: eight devices share the hidden units.

The first matrix is cut by columns, the second by rows. A device computes its hidden units from all inputs, and its part
of each output; one sum over the devices completes the outputs (Shoeybi et al., 2019, "Megatron-LM").
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import plugjax as jax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.experimental.multihost_utils import process_allgather

P = jax.P
INPUTS, HIDDEN, OUTPUTS, BATCH = 16, 64, 8, 32


def perceptron(first: Any, second: Any, x: Any) -> Any:
    """Outputs ``[batch, outputs]``."""
    return jnp.tanh(x @ first) @ second


def loss(first: Any, second: Any, x: Any, y: Any) -> Any:
    """Mean squared error."""
    return jnp.mean((perceptron(first, second, x) - y) ** 2)


def main() -> None:
    """The gradient on one device, by shardings, and by ``shard_map``."""
    if "PLUGJAX_COORDINATOR_ADDRESS" in os.environ:  # plugjax launch -n 2 --devices 4
        jax.distributed.initialize()
    else:
        jax.config.update("jax_num_cpu_devices", 8)
    mesh = jax.make_mesh((8,), ("model",), axis_types=(jax.sharding.AxisType.Auto,))
    rng = np.random.default_rng(0)
    first, second, x, y = (
        rng.normal(size=shape).astype(np.float32) / 4
        for shape in ((INPUTS, HIDDEN), (HIDDEN, OUTPUTS), (BATCH, INPUTS), (BATCH, OUTPUTS))
    )
    specs = (P(None, "model"), P("model", None), P(), P())
    placed = [
        jax.device_put(value, jax.NamedSharding(mesh, spec))
        for value, spec in zip((first, second, x, y), specs, strict=True)
    ]
    gradient = jax.grad(loss, argnums=(0, 1))
    expected = jax.jit(gradient)(first, second, x, y)
    # A program for one device, whose arguments are spread.
    found = jax.jit(gradient)(*placed)

    def of_one_device(first: Any, second: Any, x: Any, y: Any) -> Any:
        outputs = lax.psum(perceptron(first, second, x), "model")
        return jnp.mean((outputs - y) ** 2)

    written = jax.shard_map(of_one_device, mesh=mesh, in_specs=specs, out_specs=P())
    by_map = jax.jit(jax.grad(written, argnums=(0, 1)))(*placed)
    apart = max(
        float(np.max(np.abs(np.asarray(a) - process_allgather(b, tiled=True))))
        for a, b in zip((*expected, *expected), (*found, *by_map), strict=True)
    )
    print(f"weights of one device: {placed[0].addressable_shards[0].data.shape} of {first.shape}")
    print(f"gradients are spread as {found[0].sharding.spec} and {found[1].sharding.spec}")
    print(f"largest difference: {apart:.1e}")


if __name__ == "__main__":
    main()
