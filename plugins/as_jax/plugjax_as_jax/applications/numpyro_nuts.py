"""Eight schools by numpyro: NUTS, predictions from the posterior, and a guide that is fitted by its evidence bound."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from numpyro.infer.reparam import LocScaleReparam

from plugjax_as_jax.applications import marks

# Moments of two draws.
TOLERANCE = 0.2
ERRORS = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
EFFECTS = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])


@numpyro.handlers.reparam(config={"theta": LocScaleReparam(0.0)})
def schools(errors: Any, effects: Any = None) -> None:
    """The effect of coaching in eight schools, in units of ten points."""
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("schools", 8):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("effect", dist.Normal(theta, errors), obs=effects)


def run() -> dict[str, Any]:
    """Moments, and the guide's bound."""
    sampler = MCMC(NUTS(schools), num_warmup=200, num_samples=400, progress_bar=False)
    sampler.run(jax.random.key(0), ERRORS, EFFECTS)
    marks.first_result()
    draws = sampler.get_samples()
    predicted = Predictive(schools, draws)(jax.random.key(1), ERRORS)["effect"]
    svi = SVI(schools, AutoNormal(schools), numpyro.optim.Adam(0.05), Trace_ELBO())
    state = svi.init(jax.random.key(2), ERRORS, EFFECTS)
    update = jax.jit(lambda state: svi.update(state, ERRORS, EFFECTS))
    bounds = []
    for _ in marks.steps(40):
        state, bound = update(state)
        bounds.append(float(bound))
    return {
        "mu": float(draws["mu"].mean()) / 5,
        "tau": float(jnp.log(draws["tau"]).mean()),
        "theta": (draws["theta"].mean(0) / 10).tolist(),
        "predicted": (predicted.mean(0) / 20).tolist(),
        "bounds": [b / 100 for b in bounds[:10]],
        "divergent": int(sampler.get_extra_fields()["diverging"].sum() > 40),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
