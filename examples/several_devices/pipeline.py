"""A pipeline: each of eight devices has one layer, and hands its results on to the next.

A batch is cut into pieces. At each tick a device applies its layer to one piece, and `ppermute` moves all results one
device further. The derivative runs the pipeline backwards (Huang et al., 2019, "GPipe").
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
LAYERS, PIECES, ROWS, WIDTH = 8, 4, 6, 16


def layer(weights: Any, x: Any) -> Any:
    """One layer, ``[rows, width]`` to the same."""
    return jnp.tanh(x @ weights)


def in_turn(weights: Any, pieces: Any) -> Any:
    """All layers on one device; ``weights`` is ``[layers, width, width]``."""
    return lax.scan(lambda x, w: (layer(w, x), None), pieces, weights)[0]


def of_one_device(weights: Any, pieces: Any) -> Any:
    """What one device does with its layer; the last device has the results."""
    place, count = lax.axis_index("stage"), lax.axis_size("stage")
    forward = [(i, i + 1) for i in range(count - 1)]

    def tick(carry: Any, t: Any) -> tuple[Any, None]:
        received, results = carry
        x = jnp.where(place == 0, pieces[jnp.minimum(t, PIECES - 1)], received)
        y = layer(weights[0], x)
        # The piece that leaves the last device at this tick; before the first one, nothing does.
        done = t - (count - 1)
        results = jnp.where(done >= 0, results.at[jnp.maximum(done, 0)].set(y), results)
        return (lax.ppermute(y, "stage", forward), results), None

    start = (jnp.zeros((ROWS, WIDTH)), jnp.zeros((PIECES, ROWS, WIDTH)))
    varying = lax.pcast(start, ("stage",), to="varying")
    (_, results), _ = lax.scan(tick, varying, jnp.arange(PIECES + count - 1))
    return lax.psum(jnp.where(place == count - 1, results, 0), "stage")


def main() -> None:
    """Results and gradients on one device and in the pipeline."""
    if "PLUGJAX_COORDINATOR_ADDRESS" in os.environ:  # plugjax launch -n 2 --devices 4
        jax.distributed.initialize()
    else:
        jax.config.update("jax_num_cpu_devices", 8)
    mesh = jax.make_mesh((8,), ("stage",), axis_types=(jax.sharding.AxisType.Auto,))
    rng = np.random.default_rng(0)
    weights = (rng.normal(size=(LAYERS, WIDTH, WIDTH)) / WIDTH**0.5).astype(np.float32)
    pieces = rng.normal(size=(PIECES, ROWS, WIDTH)).astype(np.float32)
    pipeline = jax.shard_map(of_one_device, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P())

    def with_gradient(f: Any) -> Any:
        return jax.jit(lambda w, x: (f(w, x), jax.grad(lambda w: jnp.sum(f(w, x) ** 2))(w)))

    expected = with_gradient(in_turn)(weights, pieces)
    found = with_gradient(pipeline)(weights, pieces)
    apart = max(
        float(np.max(np.abs(np.asarray(a) - process_allgather(b, tiled=True))))
        for a, b in zip(expected, found, strict=True)
    )
    print(f"{LAYERS} layers, {PIECES} pieces, {PIECES + LAYERS - 1} ticks")
    print(f"largest difference: {apart:.1e}")


if __name__ == "__main__":
    main()
