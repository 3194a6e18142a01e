"""Soft spheres and a Lennard-Jones fluid by jax_md: the energy is conserved, and thermostats keep the temperature."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax_md import energy, quantity, simulate, space

from plugjax_as_jax.applications import marks

TOLERANCE = 2e-2
PARTICLES, BOX = 32, 6.0


def run() -> dict[str, Any]:
    """Energies and temperatures of a constant-energy, a constant-temperature and a constant-pressure run."""
    displacement, shift = space.periodic(BOX)
    grid = (
        jnp.stack(jnp.meshgrid(jnp.arange(6.0), jnp.arange(6.0)), -1).reshape(-1, 2)[:PARTICLES]
        + 0.3
    )
    start = grid + 0.05 * jax.random.normal(jax.random.key(0), (PARTICLES, 2))

    neighbor_fn, potential = energy.lennard_jones_neighbor_list(
        displacement, BOX, sigma=0.8, r_cutoff=2.0, r_onset=1.6, dr_threshold=0.4
    )
    neighbors = neighbor_fn.allocate(start)
    init, step = simulate.nve(potential, shift, 2e-3)
    state = init(jax.random.key(1), start, kT=0.3, neighbor=neighbors)

    @jax.jit
    def advance(state: Any, neighbors: Any) -> Any:
        def one(carry: Any, _: Any) -> Any:
            state, neighbors = carry
            neighbors = neighbors.update(state.position)
            state = step(state, neighbor=neighbors)
            return (state, neighbors), None

        (state, neighbors), _ = jax.lax.scan(one, (state, neighbors), None, length=20)
        total = potential(state.position, neighbor=neighbors) + quantity.kinetic_energy(
            momentum=state.momentum, mass=state.mass
        )
        return state, neighbors, total

    totals = []
    for _ in marks.steps(6):
        state, neighbors, total = advance(state, neighbors)
        totals.append(float(total))

    soft = energy.soft_sphere_pair(displacement, sigma=1.0)
    init, nvt = simulate.nvt_nose_hoover(soft, shift, 5e-3, 0.1)
    state = init(jax.random.key(2), start)

    @jax.jit
    def heat(state: Any) -> Any:
        def one(state: Any, _: Any) -> Any:
            state = nvt(state)
            return state, quantity.temperature(momentum=state.momentum, mass=state.mass)

        return jax.lax.scan(one, state, None, length=60)

    state, temperatures = heat(state)

    minimal, _ = space.periodic_general(BOX * jnp.eye(2), fractional_coordinates=True)
    pair = energy.soft_sphere_pair(minimal, sigma=1.0)
    _, shift_general = space.periodic_general(BOX * jnp.eye(2), fractional_coordinates=True)
    init, npt = simulate.npt_nose_hoover(pair, shift_general, 2e-3, 0.5, 0.1)
    squeezed = init(jax.random.key(3), start / BOX, box=BOX * jnp.eye(2))

    @jax.jit
    def press(state: Any) -> Any:
        return jax.lax.scan(lambda s, _: (npt(s), None), state, None, length=20)[0]

    squeezed = press(squeezed)
    box = simulate.npt_box(squeezed)
    return {
        "totals": totals,
        "conserved": int(max(totals) - min(totals) < 0.05),
        "temperatures": temperatures[::20].tolist(),
        "box": float(box[0, 0]),
        "forces": quantity.force(soft)(start)[:3].ravel().tolist(),
    }


if __name__ == "__main__":
    marks.tell(run, TOLERANCE)
