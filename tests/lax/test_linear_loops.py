"""Transposes of linear loops with counters and with carries that start as known values, against JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as pnp

X = np.linspace(-1, 1, 3, dtype=np.float32)
W = np.arange(9, dtype=np.float32).reshape(3, 3) / 9
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)

LOOPS = {
    "fori": lambda j, n: lambda x: j.lax.fori_loop(0, 3, lambda i, c: c * 2.0, x),
    "fori that reads its counter": lambda j, n: (
        lambda x: j.lax.fori_loop(1, 4, lambda i, c: c * (i + 0.5), x)
    ),
    "counter as carry": lambda j, n: (
        lambda x: j.lax.scan(
            lambda c, _: ((c[0] + 1, c[1] * (c[0] + 1.0)), None), (0, x), None, length=3
        )[0][1]
    ),
    "constants and slices": lambda j, n: (
        lambda x: j.lax.scan(
            lambda c, row: ((c[0] * 2, n.asarray(W) @ c[1] + row * c[0]), c[1] * n.sin(row)),
            (1, x),
            n.asarray(ROWS),
        )[1]
    ),
    "linear slices": lambda j, n: (
        lambda x: j.lax.scan(
            lambda c, row: ((c[0] + 1, c[1] + row[0] * c[0] * row[1]), row[0] * 2),
            (0.5, n.zeros(3)),
            (n.stack([x] * 4), n.asarray(ROWS)),
        )
    ),
    "reverse, known ys": lambda j, n: (
        lambda x: j.lax.scan(
            lambda c, row: ((c[0] + 1.0, c[1] * row), (c[0], c[1])),
            (0.0, x),
            n.asarray(ROWS),
            reverse=True,
        )[1][1]
    ),
    "known after the first step only": lambda j, n: (
        lambda x: j.lax.scan(
            lambda c, _: ((c[0] + 1, c[2] * c[0], x * c[0]), c[1]), (0, x, x), None, length=4
        )[1]
    ),
    "nested": lambda j, n: (
        lambda x: j.lax.fori_loop(
            0,
            3,
            lambda i, c: (
                j.lax.fori_loop(0, 2, lambda k, d: d * (i + k + 1.0), c) + n.asarray(W) @ c
            ),
            x,
        )
    ),
    "jit in the body": lambda j, n: (
        lambda x: j.lax.fori_loop(
            0, 3, lambda i, c: j.jit(lambda k, d: d * n.cos(k * 1.0))(i, c), x
        )
    ),
}


def transpose(j, n, name, wrap=lambda j, f: f):
    f = LOOPS[name](j, n)
    out = j.eval_shape(f, X)
    bars = j.tree.map(lambda s: n.cos(n.arange(float(np.prod(s.shape))).reshape(s.shape)), out)
    return wrap(j, lambda b: j.linear_transpose(f, X)(b)[0])(bars)


WRAPS = {
    "plain": lambda j, f: f,
    "jit": lambda j, f: j.jit(f),
    "vmap": lambda j, f: lambda b: j.vmap(f)(j.tree.map(lambda x: x[None] * 2, b)),
    "jvp": lambda j, f: lambda b: j.jvp(f, (b,), (b,)),
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("name", LOOPS)
def test_against_jax(name, wrap):
    found, expected = (transpose(j, n, name, WRAPS[wrap]) for j, n in ((plugjax, pnp), (jax, jnp)))
    for a, b in zip(plugjax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_constants_of_the_loop_are_not_stacked():
    f = LOOPS["constants and slices"](plugjax, pnp)
    program = plugjax.make_jaxpr(lambda b: plugjax.linear_transpose(f, X)(b)[0])(ROWS)
    stacked = [v for eqn in program.eqns for v in eqn.outvars if v.aval.shape == (4, 3, 3)]
    assert not stacked


def test_on_backends(backend):
    names = list(LOOPS)
    expected = [transpose(jax, jnp, n) for n in names]
    with plugjax.default_device(plugjax.devices(backend)[0]):
        together = plugjax.jit(lambda: [transpose(plugjax, pnp, n) for n in names])()
    for a, b in zip(together, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


# sqrt has an infinite slope at 0; times a cotangent of zeros that would be nan.
UNREAD = {
    "slices that only unread ys need": lambda j, n: (
        lambda x: j.lax.scan(lambda c, row: (c * 0.5, row), n.ones(()), n.sqrt(x))[0]
    ),
    "a carry that only unread ys need": lambda j, n: (
        lambda x: j.lax.scan(
            lambda c, _: ((c[0] * 2, c[1] * 0.5), c[1]), (n.sum(x), n.sqrt(x)), None, length=3
        )[0][0]
    ),
    "a constant that the body reads in vain": lambda j, n: (
        lambda x: j.lax.scan(
            lambda c, _: ((n.sin(n.sqrt(x) * c), c * 2)[1], None),
            n.sum(x),
            None,
            length=2,
            unroll=2,
        )[0]
    ),
    "what only an unread result of a branch needs": lambda j, n: (
        lambda x: j.lax.cond(
            x[1] > 0, lambda y, z: (y * 2, z), lambda y, z: (y, z * y), n.sum(x), n.sqrt(x).sum()
        )[0]
    ),
    "an unread result of a loop in a loop": lambda j, n: (
        lambda x: j.lax.fori_loop(
            0,
            2,
            lambda i, c: j.lax.scan(lambda d, row: (d * 3, row), c, n.sqrt(x))[0],
            n.sum(x),
        )
    ),
}


@pytest.mark.parametrize("name", UNREAD)
def test_unread_results_of_loops_have_no_cotangents(name):
    x = np.float32([0, 1, 4])
    expected = jax.grad(UNREAD[name](jax, jnp))(x)
    assert np.isfinite(expected).all()
    gradient = plugjax.grad(UNREAD[name](plugjax, pnp))
    np.testing.assert_allclose(gradient(x), expected, rtol=1e-6)
    np.testing.assert_allclose(plugjax.jit(gradient)(x), expected, rtol=1e-6)
