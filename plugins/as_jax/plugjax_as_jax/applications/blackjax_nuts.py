"""NUTS by blackjax with an adapted metric: a regression's posterior, compared by its moments."""

from __future__ import annotations

from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import jax.scipy.stats as stats

from plugjax_as_jax.applications import marks

# Chains part after some steps by the rounding of sums; their moments agree as two draws do.
TOLERANCE = 0.15


def run() -> dict[str, Any]:
    """Moments of the posterior."""
    key = jax.random.key(0)
    x = jnp.linspace(-1.0, 1.0, 24)
    y = 0.5 + 1.5 * x + 0.3 * jax.random.normal(key, (24,))

    def log_density(at: Any) -> Any:
        sigma = jnp.exp(at["log_sigma"])
        prior = stats.norm.logpdf(at["line"], 0.0, 2.0).sum() + stats.norm.logpdf(at["log_sigma"])
        return prior + stats.norm.logpdf(y, at["line"][0] + at["line"][1] * x, sigma).sum()

    start = {"line": jnp.zeros(2), "log_sigma": jnp.zeros(())}
    warmup = blackjax.window_adaptation(blackjax.nuts, log_density)
    (state, parameters), _ = warmup.run(jax.random.key(1), start, num_steps=200)
    marks.first_result()
    kernel = blackjax.nuts(log_density, **parameters).step

    @jax.jit
    def sample(state: Any, key: Any) -> Any:
        return jax.lax.scan(lambda s, k: kernel(k, s), state, jax.random.split(key, 100))

    lines = []
    energies = []
    for step in marks.steps(4):
        state_before = state
        state, infos = sample(state, jax.random.key(step))
        lines.append(jnp.stack([infos.energy.mean(), infos.acceptance_rate.mean()]))
        _, states = jax.lax.scan(
            lambda s, k: (kernel(k, s)[0],) * 2,
            state_before,
            jax.random.split(jax.random.key(step), 100),
        )
        energies.append(states.position["line"])
    draws = jnp.concatenate(energies)
    return {
        "mean": draws.mean(0).tolist(),
        "deviation": (10 * draws.std(0)).tolist(),
        "acceptance": float(jnp.stack(lines)[:, 1].mean()),
        "energy": float(jnp.stack(lines)[:, 0].mean() / 10),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
