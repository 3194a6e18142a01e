"""The generator with a state draws what JAX's draws."""

import jax.experimental.random
import numpy as np
import pytest

import plugjax
import plugjax.experimental.random


def draws(j, random):
    rng = random.stateful_rng(7)
    found = [
        rng.uniform(), rng.random(3), rng.normal(1.0, 2.0, (2, 2)), rng.integers(10, size=4), rng.integers(-5, 5),
        rng.uniform(np.zeros(2), 3.0), j.random.key_data(rng.key()), j.random.key_data(rng.key((2,))),
    ]  # fmt: skip
    f = j.jit(lambda x: x + rng.uniform())
    found += [f(1.0), f(1.0)]
    found.append(j.lax.fori_loop(0, 3, lambda i, c: c + rng.uniform(), 0.0))
    found.append(j.vmap(lambda g, x: x + g.uniform() + g.normal())(rng.split(3), np.zeros(3)))
    found += [child.uniform() for child in rng.spawn(2)]
    found.append(j.jit(lambda g: g.uniform())(rng))
    return [np.asarray(x) for x in found]


def test_draws_are_those_of_jax(backend):
    with plugjax.default_device(backend):
        found = draws(plugjax, plugjax.experimental.random)
    for y, z in zip(found, draws(jax, jax.experimental.random), strict=True):
        assert (y.shape, y.dtype) == (z.shape, z.dtype)
        np.testing.assert_allclose(y, z, rtol=1e-5)


@pytest.mark.parametrize("j", [jax, plugjax], ids=["jax", "plugjax"])
def test_errors(j):
    module = (jax if j is jax else plugjax).experimental.random
    with pytest.raises(TypeError, match="explicit seed"):
        j.jit(lambda: module.stateful_rng().uniform())()
    with pytest.raises(TypeError, match="explicit seed"):
        j.vmap(lambda x: x + module.stateful_rng().uniform())(np.zeros(2))
    with pytest.raises(ValueError, match="cannot operate on split stateful generator"):
        module.stateful_rng(0).split(3).uniform()
    with pytest.raises(ValueError, match="Expected base_key to be a typed PRNG key"):
        module.StatefulPRNG(j.numpy.zeros(2), j.new_ref(0))
    with pytest.raises(ValueError, match="Expected counter"):
        module.StatefulPRNG(j.random.key(0), j.numpy.zeros(()))


def test_without_a_seed_each_generator_is_another():
    first, second = (plugjax.experimental.random.stateful_rng() for _ in range(2))
    assert first.uniform() != second.uniform()
