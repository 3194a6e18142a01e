"""Branches that pass on what has a second use: IREE 3.13 loses such buffers unless each has a register of its own."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax

X = np.array([0.7, -0.4, 1.1], np.float32)


def branches_in_a_loop(x):
    def step(c, a):
        c = lax.cond(a > 0, lambda v: jnp.sin(v) * a, lambda v: v + a, c)
        return c, c > 0.5

    return lax.scan(step, x[0], x)[0]


def hessian_of_branches(x):
    return plugjax.hessian(branches_in_a_loop)(x)


def tangents_of_a_gradient(x):
    return plugjax.jvp(plugjax.grad(branches_in_a_loop), (x,), (x,))


def results_of_one_computation(x):
    """Both branches give two results that lie in one buffer, and one of them twice."""

    def one(c):
        return c[0] + x, c[1] * 2, c[1] * 2

    def other(c):
        return c[2] - x, c[0] + 1, c[2] - x

    def step(c, a):
        return lax.cond(a > 0, one, other, c), c[0].sum()

    return lax.scan(step, (x, x + 1, x + 2), x)


def argument_behind_a_branch(x):
    """One branch gives back an array that is read later."""
    chosen = lax.cond(x[0] > 0, lambda v: v, lambda v: jnp.sin(v), x)
    other = lax.cond(x[1] > 0, jnp.cos, jnp.tanh, chosen)
    return other * x


PROGRAMS = [
    argument_behind_a_branch,
    hessian_of_branches,
    tangents_of_a_gradient,
    results_of_one_computation,
]


@pytest.mark.spread(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values_are_those_of_numpy(program, changes, agrees):
    agrees(program, X, rtol=1e-4, atol=1e-5)
    # Without second uses there would be nothing to work around.
    assert changes["registers"] > 0
