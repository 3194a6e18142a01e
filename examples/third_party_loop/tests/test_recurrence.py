"""The primitive compared with ``jax.lax.scan``; ``PLUGJAX_BACKEND`` chooses the backend."""

import os

import jax
import numpy as np
import pytest

import plugjax
from plugjax_recurrence import recurrence, recurrence_p

BACKEND = os.environ.get("PLUGJAX_BACKEND", "numpy")
RNG = np.random.default_rng(0)
STATE, INPUTS, WEIGHTS = (
    RNG.normal(size=shape).astype(np.float32) for shape in ((3,), (5, 3), (3, 3))
)


def cell(m, weights):
    """A recurrent cell that closes over its weights and counts its steps."""

    def step(carry, x):
        state, count = carry
        state = m.numpy.tanh(weights @ state + x * (count + 1))
        return (state, count + 1), (state * x, count)

    return step


def network(m, loop, reverse=False):
    """Values of a loop: last state, count, ys."""

    def run(weights, state, xs):
        start = (state, m.numpy.int32(0))
        (state, count), (ys, counts) = loop(cell(m, weights), start, xs, reverse=reverse)
        return state, count, ys, counts

    return run


def loss(m, loop, reverse=False):
    def run(weights, state, xs):
        state, _, ys, _ = network(m, loop, reverse)(weights, state, xs)
        return (state**2).sum() + (ys**3).sum()

    return run


def both(function):
    """A function of ``(module, loop)`` under plugjax with the primitive, and under JAX with ``scan``."""
    return function(plugjax, recurrence), function(jax, jax.lax.scan)


def compare(found, expected, rtol=2e-4, atol=2e-5):
    found, expected = plugjax.tree.leaves(found), jax.tree.leaves(expected)
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


ARGS = (WEIGHTS, STATE, INPUTS)
MANY = (WEIGHTS, np.stack([STATE, -STATE]), np.stack([INPUTS, 2 * INPUTS], axis=1))
PROGRAMS = {
    "values": (lambda m, loop: network(m, loop), ARGS),
    "values_reverse": (lambda m, loop: network(m, loop, True), ARGS),
    "jit": (lambda m, loop: m.jit(network(m, loop)), ARGS),
    "jit_reverse": (lambda m, loop: m.jit(network(m, loop, True)), ARGS),
    "grad": (lambda m, loop: m.grad(loss(m, loop), (0, 1, 2)), ARGS),
    "jit_of_grad": (lambda m, loop: m.jit(m.grad(loss(m, loop), (0, 1, 2))), ARGS),
    "jit_of_grad_reverse": (lambda m, loop: m.jit(m.grad(loss(m, loop, True), (0, 1, 2))), ARGS),
    "grad_of_jit": (lambda m, loop: m.grad(m.jit(loss(m, loop)), (0, 1, 2)), ARGS),
    "jit_of_jvp": (lambda m, loop: m.jit(lambda *a: m.jvp(loss(m, loop), a, a)), ARGS),
    "forward_over_reverse": (
        lambda m, loop: m.jit(m.jacfwd(m.grad(loss(m, loop), 1), 1)), ARGS,
    ),
    "reverse_over_forward": (
        lambda m, loop: m.jit(m.jacrev(lambda *a: m.jvp(loss(m, loop), a, a)[1], 1)), ARGS,
    ),
    "grad_of_grad": (
        lambda m, loop: m.jit(m.grad(lambda *a: m.grad(loss(m, loop), 1)(*a).sum(), 2)), ARGS,
    ),
    "vmap": (lambda m, loop: m.vmap(network(m, loop), (None, 0, 1)), MANY),
    "jit_of_vmap_of_grad": (
        lambda m, loop: m.jit(m.vmap(m.grad(loss(m, loop), (0, 1, 2)), (None, 0, 1))), MANY,
    ),
    "grad_of_vmap": (
        lambda m, loop: m.grad(
            lambda w, s, xs: m.vmap(loss(m, loop), (None, None, 1))(w, s, xs).sum(), (0, 1)
        ),
        (WEIGHTS, STATE, MANY[2]),
    ),
    "grad_of_checkpoint": (lambda m, loop: m.jit(m.grad(m.checkpoint(loss(m, loop)), 2)), ARGS),
    "nested": (
        lambda m, loop: m.jit(
            m.grad(
                lambda xs: loop(
                    lambda c, x: (loop(lambda d, y: (d * y, d), c, x)[0], c * c), 1.5, xs
                )[1].sum()
            )
        ),
        (INPUTS,),
    ),
    "body_of_a_scan": (
        lambda m, loop: m.jit(
            m.grad(
                lambda xs: m.lax.scan(
                    lambda c, x: (loop(lambda d, y: (m.numpy.sin(d * y), None), c, x)[0], c), 1.5, xs
                )[1].sum()
            )
        ),
        (INPUTS,),
    ),
    "no_steps": (lambda m, loop: m.jit(network(m, loop)), (WEIGHTS, STATE, INPUTS[:0])),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_scan(name):
    function, args = PROGRAMS[name]
    ours, theirs = both(function)
    found = ours(*args)
    assert plugjax.tree.leaves(found)[0].device.backend.name == BACKEND
    compare(found, jax.jit(theirs)(*args))


def test_the_program_is_one_loop():
    program = plugjax.make_jaxpr(network(plugjax, recurrence))(*ARGS)
    (eqn,) = (e for e in program.eqns if e.primitive is recurrence_p)
    assert eqn.params["num_consts"] == 1
    assert eqn.params["num_carry"] == 2
    text = plugjax.jit(network(plugjax, recurrence)).lower(*ARGS).as_text(dialect="stablehlo")
    assert text.count("stablehlo.while") == 1


def test_misuse_is_named():
    with pytest.raises(TypeError, match=r"takes the carry .*float32\[3\].* returns .*float32\[\]"):
        recurrence(lambda c, x: (c.sum(), x), STATE, INPUTS)
    with pytest.raises(ValueError, match=r"one size, got \[4, 5\]"):
        recurrence(lambda c, x: (c, x), STATE, (INPUTS, INPUTS[:4]))
