"""Branches that pass one buffer on twice, which IREE 3.13 loses unless its registers are mended."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree import compiler, invocation

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


@pytest.fixture
def no_cache():
    plugjax.config.update("use_compilation_cache", False)
    yield
    plugjax.config.update("use_compilation_cache", True)


PROGRAMS = [hessian_of_branches, tangents_of_a_gradient, results_of_one_computation]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values_are_those_of_numpy(program, monkeypatch, no_cache):
    copies = []
    repair = invocation.LATE_REPAIRS["registers"]
    monkeypatch.setattr(compiler, "compile_elsewhere", invocation.compile_here)
    monkeypatch.setitem(
        invocation.LATE_REPAIRS, "registers", lambda inv: copies.append(repair(inv))
    )
    with plugjax.default_device("numpy"):
        expected = plugjax.tree.leaves(program(jnp.asarray(X)))
    with plugjax.default_device("iree"):
        found = plugjax.tree.leaves(plugjax.jit(program)(X))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    # Without them there would be nothing to mend.
    assert sum(copies) > 0
