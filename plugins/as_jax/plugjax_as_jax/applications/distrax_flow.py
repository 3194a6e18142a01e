"""A normalizing flow by distrax: coupling layers by haiku, fitted to two moons; and distributions of tfp."""

from __future__ import annotations

from typing import Any

import distrax
import haiku as hk
import jax
import jax.numpy as jnp
import optax
from tensorflow_probability.substrates import jax as tfp

from plugjax_as_jax.applications import marks

TOLERANCE = 3e-3


def flow() -> distrax.Transformed:
    """Four coupling layers over a normal distribution."""

    def conditioner() -> Any:
        return hk.Sequential(
            [
                hk.nets.MLP([16, 16], activate_final=True),
                hk.Linear(4, w_init=hk.initializers.Constant(0.0)),
                hk.Reshape((2, 2), preserve_dims=-1),
            ]
        )

    layers = []
    mask = jnp.array([True, False])
    for _ in range(4):
        layers.append(
            distrax.MaskedCoupling(
                mask=mask,
                bijector=lambda p: distrax.ScalarAffine(
                    shift=p[..., 0], log_scale=jnp.tanh(p[..., 1])
                ),
                conditioner=conditioner(),
            )
        )
        mask = ~mask
    base = distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2))
    return distrax.Transformed(base, distrax.Inverse(distrax.Chain(layers)))


def moons(key: Any) -> Any:
    """Points of two half circles."""
    angles, side, noise = jax.random.split(key, 3)
    t = jnp.pi * jax.random.uniform(angles, (64,))
    up = jax.random.bernoulli(side, shape=(64,))
    x = jnp.where(up, jnp.cos(t), 1.0 - jnp.cos(t))
    y = jnp.where(up, jnp.sin(t), 0.5 - jnp.sin(t))
    return jnp.stack([x, y], -1) + 0.05 * jax.random.normal(noise, (64, 2))


def run() -> dict[str, Any]:
    """Losses, densities and samples."""
    density = hk.without_apply_rng(hk.transform(lambda x: flow().log_prob(x)))
    sampler = hk.transform(lambda n: flow().sample(seed=hk.next_rng_key(), sample_shape=(n,)))
    params = density.init(jax.random.key(0), moons(jax.random.key(0)))
    optimizer = optax.adam(5e-3)
    state = optimizer.init(params)

    @jax.jit
    def train(params: Any, state: Any, key: Any) -> Any:
        def loss(params: Any) -> Any:
            return -density.apply(params, moons(key)).mean()

        value, gradient = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(params, updates), state, value

    losses = []
    for step in marks.steps(12):
        params, state, value = train(params, state, jax.random.key(step))
        losses.append(float(value))
    samples = sampler.apply(params, jax.random.key(5), 4)

    tfd = tfp.distributions
    mixture = tfd.MixtureSameFamily(
        tfd.Categorical(probs=jnp.array([0.3, 0.7])), tfd.Normal(jnp.array([-1.0, 1.0]), 0.5)
    )
    beta = distrax.Beta(2.0, 3.0)
    softmax = distrax.Softmax(jnp.array([0.1, 0.5, -0.3]), temperature=0.5)
    divergence = distrax.Normal(0.0, 1.0).kl_divergence(distrax.Normal(1.0, 2.0))
    return {
        "losses": losses,
        "samples": samples.ravel().tolist(),
        "mixture": mixture.log_prob(jnp.array([0.0, 1.0])).tolist(),
        "beta": [float(beta.mean()), float(beta.entropy()), float(beta.log_prob(0.4))],
        "softmax": softmax.probs.tolist(),
        "divergence": float(divergence),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
