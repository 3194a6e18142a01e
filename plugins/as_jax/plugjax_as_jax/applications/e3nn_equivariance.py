"""Spherical harmonics and tensor products by e3nn_jax: a layer commutes with rotations."""

from __future__ import annotations

from typing import Any

import e3nn_jax as e3nn
import jax
import jax.numpy as jnp

from plugjax_as_jax.applications import marks

TOLERANCE = 2e-3


def run() -> dict[str, Any]:
    """Values, and how far they are from being equivariant."""
    points = jax.random.normal(jax.random.key(0), (5, 3))
    turn = e3nn.rand_matrix(jax.random.key(1), ())
    weights = jax.random.normal(jax.random.key(2), (40,))

    @jax.jit
    def layer(points: Any) -> Any:
        harmonics = e3nn.spherical_harmonics("1o + 2e", points, normalize=True)
        products = e3nn.tensor_product(harmonics, harmonics, filter_ir_out=["0e", "1o", "2e"])
        linear = e3nn.FunctionalLinear(products.irreps, "0e + 1o + 2e")
        mixed = linear(
            [weights[: w.size].reshape(w.shape) for w in linear_shapes(linear)], products
        )
        return e3nn.norm_activation(mixed, [None, jnp.tanh, jax.nn.silu])

    def linear_shapes(linear: Any) -> list[Any]:
        return [jnp.zeros(i.path_shape) for i in linear.instructions]

    layer = jax.vmap(layer)
    for _ in marks.steps(5):
        answer = layer(points)
    turned = layer(points @ turn.T)
    expected = answer.transform_by_matrix(turn)
    gates = e3nn.gate(e3nn.IrrepsArray("2x0e + 1o", jnp.arange(5.0)))
    return {
        "answer": answer.array.ravel().tolist(),
        "error": float(jnp.abs(turned.array - expected.array).max() < 1e-3),
        "gate": gates.array.tolist(),
        "wigner": jnp.sum(jnp.abs(e3nn.clebsch_gordan(1, 1, 2))).tolist(),
        "radial": e3nn.bessel(jnp.array([0.5, 1.0]), 4, 2.0).ravel().tolist(),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
