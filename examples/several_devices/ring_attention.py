"""Ring attention: each of eight devices has a piece of a sequence, and keys and values go round in a ring.

No device ever has the whole sequence. The softmax is kept as a running maximum, a sum and a weighted sum of values, all
corrected when a greater score comes (Liu et al., 2023, "Ring Attention with Blockwise Transformers").
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
LENGTH, HEADS, WIDTH = 64, 4, 8


def attention(q: Any, k: Any, v: Any) -> Any:
    """Causal attention of whole sequences ``[length, heads, width]``."""
    scores = jnp.einsum("qhd,khd->hqk", q, k) / WIDTH**0.5
    later = jnp.arange(LENGTH)[:, None] < jnp.arange(LENGTH)
    return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(jnp.where(later, -jnp.inf, scores)), v)


def ring_attention(q: Any, k: Any, v: Any) -> Any:
    """The same of one device's piece; axis ``ring`` joins the pieces."""
    place, count = lax.axis_index("ring"), lax.axis_size("ring")
    rows = q.shape[0]
    onward = [(i, (i + 1) % count) for i in range(count)]

    def turn(carry: Any, t: Any) -> tuple[Any, None]:
        k, v, greatest, total, mixed = carry
        # After t turns, the piece is that of the device t places before.
        origin = (place - t) % count
        later = (place * rows + jnp.arange(rows))[:, None] < origin * rows + jnp.arange(rows)
        scores = jnp.einsum("qhd,khd->hqk", q, k) / WIDTH**0.5
        scores = jnp.where(later, -jnp.inf, scores)
        greater = jnp.maximum(greatest, scores.max(-1))
        weights = jnp.exp(scores - greater[..., None])
        correction = jnp.exp(greatest - greater)
        total = total * correction + weights.sum(-1)
        mixed = mixed * correction[..., None] + jnp.einsum("hqk,khd->hqd", weights, v)
        k, v = lax.ppermute((k, v), "ring", onward)
        return (k, v, greater, total, mixed), None

    # The first piece is a device's own, so that no row is without a score.
    start = (
        jnp.full((HEADS, rows), -jnp.inf), jnp.zeros((HEADS, rows)), jnp.zeros((HEADS, rows, WIDTH)),
    )  # fmt: skip
    varying = lax.pcast(start, ("ring",), to="varying")
    (_, _, _, total, mixed), _ = lax.scan(turn, (k, v, *varying), jnp.arange(count))
    return jnp.moveaxis(mixed / total[..., None], 0, 1)


def main() -> None:
    """Results and gradients on one device and around the ring."""
    if "PLUGJAX_COORDINATOR_ADDRESS" in os.environ:  # plugjax launch -n 2 --devices 4
        jax.distributed.initialize()
    else:
        jax.config.update("jax_num_cpu_devices", 8)
    mesh = jax.make_mesh((8,), ("ring",), axis_types=(jax.sharding.AxisType.Auto,))
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(LENGTH, HEADS, WIDTH)).astype(np.float32) for _ in range(3))
    ring = jax.shard_map(ring_attention, mesh=mesh, in_specs=P("ring"), out_specs=P("ring"))

    def with_gradients(f: Any) -> Any:
        gradients = jax.grad(lambda *xs: jnp.sum(f(*xs) ** 2), argnums=(0, 1, 2))
        return jax.jit(lambda *xs: (f(*xs), *gradients(*xs)))

    expected = with_gradients(attention)(q, k, v)
    found = with_gradients(ring)(q, k, v)
    apart = max(
        float(np.max(np.abs(np.asarray(a) - process_allgather(b, tiled=True))))
        for a, b in zip(expected, found, strict=True)
    )
    print(f"{LENGTH} places, {LENGTH // mesh.size} on each of {mesh.size} devices")
    print(f"largest difference: {apart:.1e}")


if __name__ == "__main__":
    main()
