"""A model by penzai with named axes, its weights selected and changed, and shown as text by treescope."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import treescope
from penzai import pz

from plugjax_as_jax.applications import marks

TOLERANCE = 1e-3


def run() -> dict[str, Any]:
    """Answers and losses."""
    model = pz.nn.Sequential(
        [
            pz.nn.Affine.from_config(
                name="first",
                init_base_rng=jax.random.key(0),
                input_axes={"x": 3},
                output_axes={"h": 8},
            ),
            pz.nn.Elementwise(jnp.tanh),
            pz.nn.Affine.from_config(
                name="second",
                init_base_rng=jax.random.key(1),
                input_axes={"h": 8},
                output_axes={"y": 2},
            ),
        ]
    )
    data = pz.nx.wrap(jax.random.normal(jax.random.key(2), (6, 3)), "batch", "x")
    target = pz.nx.wrap(jnp.stack([jnp.arange(6.0), jnp.ones(6)], -1), "batch", "y")
    structure, variables = pz.unbind_params(model)
    values = [v.freeze() for v in variables]

    @jax.jit
    def train(values: Any) -> Any:
        def loss(values: Any) -> Any:
            answer = pz.bind_variables(structure, values)(data)
            return ((answer - target) ** 2).unwrap("batch", "y").mean()

        value, gradient = jax.value_and_grad(loss)(values)
        return value, jax.tree.map(lambda v, g: v - 0.1 * g, values, gradient)

    losses = []
    for _ in marks.steps(10):
        value, values = train(values)
        losses.append(float(value))
    answer = model(data)
    shown = treescope.render_to_text(model)
    return {
        "losses": losses,
        "answer": answer.unwrap("batch", "y").ravel().tolist(),
        "parameters": len(variables),
        "shown": int("Affine" in shown and "first" in shown),
        "summed": float(pz.nx.nmap(jnp.sum)(data.untag("batch", "x")).unwrap()),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
