"""``run_state`` and ``for_loop``: functions that write references as functions of arrays."""

import jax
import numpy as np
from jax._src.state import discharge

import plugjax
from plugjax.experimental.references import for_loop, run_state


def write(refs):
    x, y = refs["x"], refs["y"]
    x[0] = x[0] * y[...]
    y[...] = x[...].sum()


def total(run):
    def f(x, y):
        found = run(write)({"x": x, "y": y})
        return found["x"].sum() * found["y"]

    return f


def test_run_state_against_jax(on_backend):
    # JAX maps and differentiates the pure form only.
    x, y = np.arange(1.0, 4.0, dtype=np.float32), np.float32(3.0)
    ours, theirs = (
        [
            f(x, y),
            framework.jit(f)(x, y),
            framework.vmap(lambda v, f=f: f(v, y))(np.stack([x, 2 * x])),
        ]
        for framework, run in ((plugjax, run_state), (jax, discharge.run_state_reference))
        for f in [total(run)]
    )
    ours += plugjax.grad(total(run_state), (0, 1))(x, y)
    theirs += jax.grad(total(discharge.run_state_reference), (0, 1))(x, y)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_for_loop(on_backend):
    def cumulative(x, reverse):
        def step(i, refs):
            out, carry = refs
            carry[...] += x[i]
            out[i] = carry[...]

        return for_loop(3, step, (plugjax.numpy.zeros(3), 0.0), reverse=reverse)[0]

    x = np.array([1.0, 2.0, 4.0], np.float32)
    assert cumulative(plugjax.numpy.asarray(x), False).tolist() == [1.0, 3.0, 7.0]
    assert plugjax.jit(cumulative, static_argnums=1)(x, True).tolist() == [7.0, 6.0, 4.0]
    slope = plugjax.grad(lambda x: (cumulative(x, True) ** 2).sum())(plugjax.numpy.asarray(x))
    np.testing.assert_allclose(slope, [14.0, 26.0, 34.0])
