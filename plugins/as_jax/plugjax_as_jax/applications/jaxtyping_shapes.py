"""jaxtyping: annotations of shapes and dtypes, checked on arrays, tracers and trees while a program runs."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree, Shaped, jaxtyped

from plugjax_as_jax.applications import marks

TOLERANCE = 1e-5


def accepts(value: Any, kind: Any) -> int:
    """Whether a value is of an annotated kind."""
    return int(isinstance(value, kind))


def run() -> dict[str, Any]:
    """Which values are of which kinds, outside and inside of transformations."""
    x, n = jnp.ones((2, 3)), jnp.arange(3)
    key = jax.random.key(0)
    seen: list[int] = []

    @jax.jit
    def inside(x: Any) -> Any:
        seen.append(accepts(x, Float[Array, "2 3"]))
        seen.append(accepts(x, Float[Array, "2 4"]))
        return x.sum()

    for _ in marks.steps(10):
        total = inside(x)
    jax.vmap(lambda row: seen.append(accepts(row, Float[Array, "3"])) or row)(x)
    with jaxtyped("context"):
        same = [
            accepts(x, Float[Array, "a b"]),
            accepts(n, Int[Array, "b"]),
            accepts(n, Int[Array, "a"]),
        ]
    tree = {"w": x, "b": [x[0]]}

    class Layer(eqx.Module):
        weight: Float[Array, "out in"]

        def __call__(self, y: Float[Array, " in"]) -> Float[Array, " out"]:
            return self.weight @ y

    return {
        "kinds": [
            accepts(x, Float[Array, "2 3"]),
            accepts(x, Float[Array, "..."]),
            accepts(x, Int[Array, "2 3"]),
            accepts(n > 1, Bool[Array, "3"]),
            accepts(x, Shaped[Array, "rows 3"]),
            accepts(x, Float[Array, "2 *rest"]),
            accepts(key, Key[Array, ""]),
            accepts(key, PRNGKeyArray),
            accepts(jax.random.PRNGKey(0), PRNGKeyArray),
            accepts(1.0, Float[Array, ""]),
            accepts(x.astype(jnp.bfloat16), Float[Array, "2 3"]),
            accepts(tree, PyTree[Float[Array, "..."]]),
            accepts(tree, PyTree[Int[Array, "..."]]),
        ],
        "inside": seen,
        "same": same,
        "total": float(total),
        "layer": Layer(x)(jnp.arange(3.0)).tolist(),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
