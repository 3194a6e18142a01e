"""Attention over patches of images, with every reshape, reduction and contraction by einops."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from einops import einsum, pack, rearrange, reduce, repeat, unpack

from plugjax_as_jax.applications import marks

TOLERANCE = 1e-3


@jax.jit
def attend(weights: Any, images: Any) -> Any:
    """The mean over patches after one layer of attention."""
    patches = rearrange(images, "b (h p) (w q) c -> b (h w) (p q c)", p=2, q=2)
    x = einsum(patches, weights["embed"], "b n f, f d -> b n d")
    first = repeat(weights["first"], "d -> b 1 d", b=x.shape[0])
    x, shapes = pack([first, x], "b * d")
    q, k, v = (
        rearrange(einsum(x, w, "b n d, d e -> b n e"), "b n (h e) -> b h n e", h=2)
        for w in weights["qkv"]
    )
    scores = jax.nn.softmax(einsum(q, k, "b h i e, b h j e -> b h i j") / 2.0, axis=-1)
    mixed = rearrange(einsum(scores, v, "b h i j, b h j e -> b h i e"), "b h n e -> b n (h e)")
    head, rest = unpack(mixed, shapes, "b * d")
    return reduce(head, "b 1 d -> b d", "sum") + reduce(rest, "b n d -> b d", "max")


def run() -> dict[str, Any]:
    """Values and derivatives."""
    keys = jax.random.split(jax.random.key(0), 6)
    weights = {
        "embed": jax.random.normal(keys[0], (12, 8)) / 3.0,
        "first": jnp.ones(8),
        "qkv": [jax.random.normal(k, (8, 8)) / 3.0 for k in keys[1:4]],
    }
    images = jax.random.normal(keys[4], (2, 6, 4, 3))
    for _ in marks.steps(10):
        answer = attend(weights, images)
    gradient = jax.grad(lambda w: jnp.sum(attend(w, images) ** 2))(weights)
    try:
        rearrange(images, "b (h p) w c -> b h", p=4)
        refused = 0
    except Exception:
        refused = 1
    return {
        "answer": answer.ravel().tolist(),
        "gradient": gradient["first"].tolist(),
        "embed": float(jnp.abs(gradient["embed"]).sum()),
        "refused": refused,
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
