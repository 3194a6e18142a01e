"""Optimizers, step by step against JAX's, and what surrounds them."""

from types import SimpleNamespace

import jax
import jax.example_libraries.optimizers
import numpy as np
import pytest

import plugjax
import plugjax.numpy
from plugjax.example_libraries import optimizers

OURS = SimpleNamespace(jax=plugjax, np=plugjax.numpy, o=optimizers)
THEIRS = SimpleNamespace(jax=jax, np=jax.numpy, o=jax.example_libraries.optimizers)
BOTH = (OURS, THEIRS)
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
OPTIMIZERS = {
    "sgd": lambda o: o.sgd(0.1),
    "momentum": lambda o: o.momentum(0.1, 0.9),
    "nesterov": lambda o: o.nesterov(o.exponential_decay(0.1, 3, 0.5), 0.9),
    "adagrad": lambda o: o.adagrad(0.1),
    "rmsprop": lambda o: o.rmsprop(0.1, gamma=0.8),
    "rmsprop_momentum": lambda o: o.rmsprop_momentum(0.1, momentum=0.5),
    "adam": lambda o: o.adam(o.polynomial_decay(0.1, 5, 0.01, 2.0)),
    "adamax": lambda o: o.adamax(0.1),
    "sm3": lambda o: o.sm3(0.1),
}


def path(m, make, compiled, steps=4):
    """Parameters and the leaves of the state after each step."""
    init, update, params_of = make(m.o)

    def loss(params):
        y = m.np.tanh(X @ params["w"][0]) + params["b"]
        return (y**2).sum() + (params["w"][1] ** 2).sum()

    def step(i, state):
        return update(i, m.jax.grad(loss)(params_of(state)), state)

    step = m.jax.jit(step) if compiled else step
    w = np.cos(np.arange(8, dtype=np.float32)).reshape(4, 2)
    state = init({"w": [m.np.asarray(w), m.np.asarray(w[0])], "b": m.np.asarray(np.float32(0.5))})
    for i in range(steps):
        state = step(i, state)
        yield m.jax.tree.leaves(params_of(state)), m.jax.tree.leaves(state)


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps(name):
    # The state of sm3 has shapes in it, which are not arrays.
    compiled = name != "sm3"
    ours, theirs = (path(m, OPTIMIZERS[name], compiled) for m in BOTH)
    for found, wanted in zip(ours, theirs, strict=True):
        for x, y in zip(found[0] + found[1], wanted[0] + wanted[1], strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("device", ["xla", "iree"])
def test_steps_on(device):
    wanted = list(path(THEIRS, OPTIMIZERS["adam"], True))
    with plugjax.default_device(device):
        for found, expected in zip(path(OURS, OPTIMIZERS["adam"], True), wanted, strict=True):
            for x, y in zip(found[0], expected[0], strict=True):
                np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6)


SCHEDULES = {
    "constant": lambda o: o.constant(0.5),
    "exponential_decay": lambda o: o.exponential_decay(0.5, 3, 0.9),
    "inverse_time_decay": lambda o: o.inverse_time_decay(0.5, 3, 0.9),
    "staircase": lambda o: o.inverse_time_decay(0.5, 3, 0.9, staircase=True),
    "polynomial_decay": lambda o: o.polynomial_decay(0.5, 4, 0.1, power=2.0),
    "piecewise_constant": lambda o: o.piecewise_constant([2, 4], [0.5, 0.4, 0.1]),
    "a number": lambda o: o.make_schedule(0.25),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    ours, theirs = (SCHEDULES[name](m.o) for m in BOTH)
    for i in range(7):
        np.testing.assert_allclose(ours(i), theirs(i), rtol=1e-6)


def test_norms():
    tree = {"a": X, "b": [np.float32(3)]}
    for bound in (1.0, 100.0):
        found, wanted = (m.o.clip_grads(m.jax.tree.map(m.np.asarray, tree), bound) for m in BOTH)
        for x, y in zip(plugjax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-6)
    np.testing.assert_allclose(optimizers.l2_norm(tree), THEIRS.o.l2_norm(tree), rtol=1e-6)


def test_states_are_unpacked_and_packed():
    state = optimizers.adam(0.1).init_fn({"a": X, "b": [X[0]]})
    unpacked = optimizers.unpack_optimizer_state(state)
    assert [len(point.subtree) for point in (unpacked["a"], unpacked["b"][0])] == [3, 3]
    assert next(iter(unpacked["a"])) is unpacked["a"].subtree
    packed = optimizers.pack_optimizer_state(unpacked)
    assert plugjax.tree.structure(packed) == plugjax.tree.structure(state)
    with pytest.raises(AssertionError):
        optimizers.pack_optimizer_state({"a": 1.0})


def _grows(o):
    maker = o.optimizer(lambda: (lambda x: x, lambda i, g, x: (x, g), lambda x: x))
    opt = maker()
    return opt.update_fn(0, X, opt.init_fn(X))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda o: o.sgd(0.1).update_fn(0, [X], o.sgd(0.1).init_fn(X)), TypeError, "passed a gradient tree"),
        (_grows, TypeError, "produced an output structure"),
        (lambda o: o.make_schedule(np.ones(2)), TypeError, None),
        (lambda o: o.piecewise_constant(1, [2]), ValueError, "must be sequences"),
        (lambda o: o.piecewise_constant([1, 2], [2]), ValueError, "must be one shorter"),
    ],
)  # fmt: skip
def test_errors(call, error, words):
    for m in BOTH:
        with pytest.raises(error, match=words):
            call(m.o)
