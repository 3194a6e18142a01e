"""Reductions of what comes of constants alone: IREE computes them wrongly unless it cannot see that."""

import numpy as np

import plugjax
import plugjax.numpy as jnp
from plugjax import lax

ONES = np.ones(4, np.float32)

PROGRAMS = {
    "weights": lambda x: (jnp.ones(4) / 4).sum() + x,
    "product": lambda x: jnp.prod(jnp.exp(jnp.full(3, 0.5))) + x,
    "largest": lambda x: jnp.max(-jnp.full((2, 3), 2.0), axis=1) + x,
    "place": lambda x: jnp.argmax(-jnp.ones(4)) + x,
    "windows": lambda x: (
        lax.reduce_window(jnp.exp(jnp.zeros(4)), 0.0, lax.add, (2,), (1,), "VALID") + x
    ),
    "closed over": lambda x: jnp.sum(jnp.sqrt(ONES * 4)) + x,
    "in a loop": lambda x: lax.fori_loop(0, 2, lambda i, c: c + jnp.sum(jnp.sin(jnp.ones(3))), x),
    "in a branch": lambda x: lax.cond(x > 0, lambda: jnp.sum(-jnp.ones(3)), lambda: x),
    "mean of squares": lambda x: jnp.mean((jnp.ones((3, 2)) * 2) ** 2) * x,
    "not constant": lambda x: jnp.sum(jnp.ones(3) * x),
}


def test_they_are_what_numpy_computes():
    def together(x):
        return [program(x) for program in PROGRAMS.values()]

    with plugjax.default_device("numpy"):
        expected = [np.asarray(y) for y in together(jnp.float32(2))]
    with plugjax.default_device("iree"):
        found = plugjax.jit(together)(jnp.float32(2))
    for name, y, z in zip(PROGRAMS, found, expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-6, err_msg=name)
