"""Taylor series of drawn compositions agree with nested derivatives of JAX in double precision, and with JAX's ``jet``."""

import math

import jax
import numpy as np
from hypothesis import given, strategies as st

import plugjax
import plugjax.numpy
from plugjax.experimental.jet import jet

# Functions from arrays of rank 1 or 2 to arrays, smooth and bounded on what comes in.
STEPS = {
    "sin": lambda j, x: j.numpy.sin(x),
    "exp": lambda j, x: j.numpy.exp(j.numpy.tanh(x)),
    "log": lambda j, x: j.numpy.log(2.5 + j.numpy.sin(x)),
    "square": lambda j, x: x * x / 4,
    "quotient": lambda j, x: x / (2 + x * x),
    "root": lambda j, x: j.numpy.sqrt(3 + x * x),
    "power": lambda j, x: (2 + j.numpy.cos(x)) ** 1.5,
    "logistic": lambda j, x: j.nn.sigmoid(x),
    "softmax": lambda j, x: j.nn.softmax(x),
    "erf": lambda j, x: j.lax.erf(x),
    "atan2": lambda j, x: j.numpy.arctan2(x, 2 + x * x),
    "dot": lambda j, x: x @ x.T / 3 if x.ndim == 2 else x * j.numpy.dot(x, x) / 4,
    "sum": lambda j, x: x + j.numpy.sum(x, axis=-1, keepdims=True) / 3,
    "cumsum": lambda j, x: j.numpy.cumsum(x, axis=0) / 2,
    "transpose": lambda j, x: x.T,
    "slice": lambda j, x: j.numpy.concatenate([x[1:], x[:1]]),
    "gather": lambda j, x: x[np.array([1, 0, 1])],
    "scatter": lambda j, x: x.at[0].add(j.numpy.sin(x[1])),
    "where": lambda j, x: j.numpy.where(x > 0.3, x, j.numpy.sin(x)),
    "max": lambda j, x: j.numpy.maximum(x, -x + 0.1),
    "sort": lambda j, x: j.numpy.sort(x, axis=0),
    "jit": lambda j, x: j.jit(lambda x: x * j.numpy.sin(x))(x),
    "scan": lambda j, x: j.lax.scan(lambda c, y: (j.numpy.sin(c + y), c * y), x[0], x)[1],
    "cond": lambda j, x: j.lax.cond(j.numpy.sum(x) > 0, lambda x: x * x, j.numpy.sin, x),
    "fori": lambda j, x: j.lax.fori_loop(0, 3, lambda i, c: j.numpy.sin(c) + i * x / 4, x),
}  # fmt: skip


@st.composite
def programs(draw, steps=tuple(STEPS)):
    names = draw(st.lists(st.sampled_from(sorted(steps)), min_size=1, max_size=3))
    shape = draw(st.sampled_from([(3,), (3, 3)]))
    order = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    point, *series = rng.uniform(-1, 1, (order + 1, *shape)).astype(np.float32)
    return names, point, series


def composed(j, names):
    def f(x):
        for name in names:
            x = STEPS[name](j, x)
        return x

    return f


def nested(f, point, series):
    """The value and the derivatives along the curve, in double precision."""
    with jax.enable_x64(True):
        terms = [np.float64(c) / math.factorial(k) for k, c in enumerate(series, 1)]

        def along(t):
            return f(np.float64(point) + sum(t**k * c for k, c in enumerate(terms, 1)))

        found = [along]
        for _ in series:
            found.append(jax.jacfwd(found[-1]))
        return jax.jit(lambda t: [g(t) for g in found])(np.float64(0))


def compare(names, point, series):
    value, terms = jet(composed(plugjax, names), (point,), (series,))
    wanted = nested(composed(jax, names), point, series)
    for found, y in zip([value, *terms], wanted, strict=True):
        scale = max(1, np.abs(y).max())
        np.testing.assert_allclose(found, y, rtol=2e-3, atol=2e-4 * scale)


@given(program=programs())
def test_compositions(program):
    compare(*program)


@given(program=programs())
def test_compositions_under_jit_on_xla(program):
    names, point, series = program
    f = plugjax.jit(lambda x, s: jet(composed(plugjax, names), (x,), (s,)))
    with plugjax.default_device(plugjax.devices("xla")[0]):
        compiled = plugjax.tree.leaves(f(point, series))
    plain = plugjax.tree.leaves(jet(composed(plugjax, names), (point,), (series,)))
    for x, y in zip(compiled, plain, strict=True):
        scale = max(1, np.abs(np.asarray(y)).max())
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-3, atol=1e-4 * scale)


def test_compositions_on_iree():
    point, *series = np.random.default_rng(1).uniform(-1, 1, (3, 3)).astype(np.float32)
    with plugjax.default_device(plugjax.devices("iree")[0]):
        f = plugjax.jit(lambda x: jet(composed(plugjax, ["scan", "log"]), (x,), (series,)))
        value, terms = f(point)
    wanted = nested(composed(jax, ["scan", "log"]), point, series)
    for found, y in zip([value, *terms], wanted, strict=True):
        np.testing.assert_allclose(found, y, rtol=1e-3, atol=1e-3)
