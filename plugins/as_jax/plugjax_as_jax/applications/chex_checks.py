"""chex: dataclasses as trees, assertions on arrays and trees, and variants of a function that agree."""

from __future__ import annotations

from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from plugjax_as_jax.applications import marks

TOLERANCE = 1e-4


@chex.dataclass
class State:
    """A tree with names."""

    weights: chex.Array
    step: chex.Numeric = 0


def refusals() -> int:
    """How many wrong claims chex refuses."""
    x = jnp.arange(6.0).reshape(2, 3)
    claims = [
        lambda: chex.assert_shape(x, (3, 2)),
        lambda: chex.assert_rank(x, 1),
        lambda: chex.assert_type(x, int),
        lambda: chex.assert_tree_all_finite({"a": x / 0.0}),
        lambda: chex.assert_trees_all_close({"a": x}, {"a": x + 1.0}),
        lambda: chex.assert_trees_all_equal_shapes({"a": x}, {"a": x[0]}),
        lambda: chex.assert_equal_shape([x, x[0]]),
        lambda: chex.assert_axis_dimension(x, 1, 2),
        lambda: chex.assert_scalar_positive(-1.0),
        lambda: chex.assert_is_divisible(5, 2),
    ]
    refused = 0
    for claim in claims:
        try:
            claim()
        except AssertionError:
            refused += 1
    return refused


def run() -> dict[str, Any]:
    """Refusals, values, and how often a function is traced."""
    state = State(weights=jnp.ones(3), step=jnp.array(2))
    doubled = jax.tree.map(lambda x: x * 2, state)
    gradient = jax.grad(lambda s: jnp.sum(s.weights**3) * 1.0)(
        State(weights=jnp.arange(3.0), step=0.0)
    )

    @jax.jit
    @chex.assert_max_traces(n=1)
    def traced_once(x: Any) -> Any:
        return jnp.sin(x).sum()

    for step in marks.steps(10):
        value = traced_once(jnp.arange(4.0) + step)
    try:
        traced_once(jnp.arange(5.0))
        again = 0
    except AssertionError:
        again = 1

    @jax.jit
    def positive(x: Any) -> Any:
        chex.assert_tree_all_finite(x)
        return jnp.log(x)

    checked = chex.chexify(positive, async_check=False)
    with_pmap = chex.fake_pmap_and_jit()
    with with_pmap:
        mapped = jax.pmap(lambda x: x**2)(jnp.arange(4.0).reshape(2, 2))
    tree = {"a": np.ones(2), "b": [jnp.zeros(3)]}
    chex.assert_tree_shape_prefix({"x": jnp.ones((2, 3)), "y": jnp.ones((2, 5))}, (2,))
    return {
        "refused": refusals(),
        "doubled": [*doubled.weights.tolist(), int(doubled.step)],
        "gradient": gradient.weights.tolist(),
        "value": float(value),
        "again": again,
        "checked": checked(jnp.array([1.0, 2.0])).tolist(),
        "mapped": np.asarray(mapped).ravel().tolist(),
        "same": int(chex.assert_trees_all_equal_structs(tree, tree) is None),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
