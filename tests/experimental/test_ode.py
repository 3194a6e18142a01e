"""``odeint`` with JAX as oracle: values, gradients, transformations; and with solutions in closed form."""

from types import SimpleNamespace

import jax
import jax.experimental.ode
import numpy as np
import pytest
from hypothesis import given, strategies as st

import plugjax
import plugjax.numpy
from plugjax.experimental import ode

OURS = SimpleNamespace(jax=plugjax, np=plugjax.numpy, odeint=ode.odeint)
THEIRS = SimpleNamespace(jax=jax, np=jax.numpy, odeint=jax.experimental.ode.odeint)
TIMES = np.linspace(0, 1.5, 4).astype(np.float32)
LOOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(params=["numpy", "xla"])
def device(request):
    with plugjax.default_device(request.param):
        yield request.param


def close(found, wanted, rtol=2e-4):
    assert plugjax.tree.structure(found) == plugjax.tree.structure(
        plugjax.tree.unflatten(plugjax.tree.structure(found), jax.tree.leaves(wanted))
    )
    for ours, theirs in zip(plugjax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)


def pendulum(m):
    """A state that is a tree, with a parameter that is one."""

    def slope(y, t, p):
        angle, speed = y["angle"], y["speed"]
        push = p["push"] * m.np.cos(t)
        return {"angle": speed, "speed": -p["damping"] * speed - m.np.sin(angle) + push}

    return slope


STATE = {"angle": np.array([0.5, 1.0], np.float32), "speed": np.zeros(2, np.float32)}
PARAMETERS = {"damping": np.float32(0.2), "push": np.array([0.3, -0.1], np.float32)}


def pendulum_loss(m, **options):
    def loss(y0, t, p):
        y = m.odeint(pendulum(m), y0, t, p, **options)
        return (y["angle"] ** 2).sum() + (y["speed"][1] * y["angle"][-1]).sum()

    return loss


def arguments(m):
    return m.jax.tree.map(m.np.asarray, (STATE, TIMES, PARAMETERS))


def test_values(device):
    y0, t, p = arguments(OURS)
    close(ode.odeint(pendulum(OURS), y0, t, p), values_of_jax())


def values_of_jax():
    y0, t, p = arguments(THEIRS)
    return THEIRS.odeint(pendulum(THEIRS), y0, t, p)


def test_gradients(device):
    found = plugjax.grad(pendulum_loss(OURS), (0, 1, 2))(*arguments(OURS))
    close(found, jax.grad(pendulum_loss(THEIRS), (0, 1, 2))(*arguments(THEIRS)), 2e-3)


def test_values_and_gradients_on_iree():
    def decay(m):
        return lambda y, t, rate: -rate * y + t

    def loss(m):
        return lambda y, rate: (
            m.odeint(decay(m), y, m.np.asarray(TIMES), rate, **LOOSE) ** 2
        ).sum()

    y, rate = np.array([1.0, 2.0], np.float32), np.float32(0.7)
    with plugjax.default_device("iree"):
        found = plugjax.jit(plugjax.value_and_grad(loss(OURS), (0, 1)))(y, rate)
    close(found, jax.value_and_grad(loss(THEIRS), (0, 1))(y, rate), 1e-3)


def test_times_that_descend(device):
    def path(t):
        return ode.odeint(lambda y, t, a: -a * y * t, plugjax.numpy.float32(1), t, 0.5)

    t = plugjax.numpy.asarray(TIMES[::-1].copy())
    np.testing.assert_allclose(path(t), np.exp(0.25 * (1.5**2 - t**2)), rtol=1e-5)
    # y(t[-1]) = exp((t[0]^2 - t[-1]^2) / 4).
    end, bars = plugjax.value_and_grad(lambda t: path(t)[-1])(t)
    np.testing.assert_allclose(bars, end * np.array([0.75, 0, 0, 0]), rtol=1e-4, atol=1e-5)


def test_there_and_back():
    y0, t, p = arguments(OURS)
    there = ode.odeint(pendulum(OURS), y0, t, p)
    end = plugjax.tree.map(lambda x: x[-1], there)
    back = ode.odeint(pendulum(OURS), end, t[::-1], p)
    close(plugjax.tree.map(lambda x: x[::-1], back), values_of_jax())


def test_complex_values(device):
    z0 = np.array([1 + 1j, 2], np.complex64)

    def loss(m):
        def size(z, t, w):
            z = m.odeint(lambda z, t, w: 1j * w * z * t, z, t, w)
            return abs(z[-1] * np.array([1, 2 + 1j], np.complex64)).sum()

        return m.jax.value_and_grad(size, (0, 1, 2))

    given = [z0, TIMES, np.complex64(2 + 0.1j)]
    close(
        loss(OURS)(*map(plugjax.numpy.asarray, given)),
        loss(THEIRS)(*map(jax.numpy.asarray, given)),
        1e-3,
    )


def test_vmap_and_jit(device):
    rates = np.array([0.1, 1.0, 2.0], np.float32)

    def slopes(m):
        def end(rate, y):
            return m.odeint(lambda y, t: -rate * y**2, y, m.np.asarray(TIMES))[-1]

        return m.jax.jit(m.jax.vmap(m.jax.value_and_grad(end, (0, 1)), (0, None)))

    close(slopes(OURS)(rates, np.float32(1)), slopes(THEIRS)(rates, np.float32(1)))


def test_second_derivatives():
    def curvature(m):
        def end(rate):
            return m.odeint(lambda y, t: -rate * y**2, m.np.float32(1), m.np.asarray(TIMES))[-1]

        return m.jax.grad(m.jax.grad(end))

    # y(t) = 1 / (1 + rate t)
    found = curvature(OURS)(0.3)
    np.testing.assert_allclose(found, 2 * 1.5**2 / (1 + 0.3 * 1.5) ** 3, rtol=1e-4)


def test_arguments_of_integers():
    def slope(y, t, p):
        return -p["rate"] * y ** p["power"] * p["on"]

    def end(rate):
        p = {"rate": rate, "power": np.int32(2), "on": np.array(True)}
        return ode.odeint(slope, 1.0, plugjax.numpy.asarray(TIMES), p)[-1]

    np.testing.assert_allclose(plugjax.grad(end)(0.3), -1.5 / (1 + 0.45) ** 2, rtol=1e-4)


def test_double_precision():
    with plugjax.enable_x64(True), jax.enable_x64(True):
        found, wanted = (
            m.jax.value_and_grad(
                lambda y, m=m: m.odeint(lambda y, t: m.np.sin(y) * t, y, m.np.linspace(0.0, 2, 3))[
                    -1
                ]
            )(1.0)
            for m in (OURS, THEIRS)
        )
    assert found[0].dtype == np.float64
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_limits_of_steps():
    # In float64, because extrapolation amplifies rounding.
    def steps(m, **options):
        return m.odeint(lambda y, t: -5 * y, 1.0, m.np.linspace(0.0, 2, 3), **options)

    coarse = {"rtol": 1e-3, "atol": 1e-3}
    with plugjax.enable_x64(True), jax.enable_x64(True):
        for options in ({**coarse, "mxstep": 1}, {**coarse, "hmax": 0.01}, coarse):
            close(steps(OURS, **options), steps(THEIRS, **options), 1e-9)
        few, enough = steps(OURS, **coarse, mxstep=1), steps(OURS, **coarse)
    assert not np.allclose(few, enough, atol=1e-2)


def test_a_time_twice_and_one_alone():
    found = ode.odeint(lambda y, t: -y, 1.0, plugjax.numpy.array([0.5, 0.5, 1.0, 1.0]))
    np.testing.assert_allclose(found, np.exp([0, 0, -0.5, -0.5]), rtol=1e-5)
    assert ode.odeint(lambda y, t: -y, 1.0, plugjax.numpy.array([0.5])).tolist() == [1]


@given(
    st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=3),
    st.floats(-1, 1, width=32),
    st.integers(1, 4),
)
def test_linear_systems(y0, rate, count):
    times = np.linspace(-1, 1, count + 1).astype(np.float32)
    y0 = np.array(y0, np.float32)
    found = ode.odeint(_growth, y0, plugjax.numpy.asarray(times), rate, **LOOSE)
    wanted = y0 * np.exp(rate * (times[:, None] + 1))
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)


def _growth(y, t, rate):
    return rate * y


def test_the_solver_is_compiled_once():
    traced = []

    def slope(y, t):
        traced.append(y)
        return -y

    t = plugjax.numpy.asarray(TIMES)
    counts = []
    for _ in range(3):
        ode.odeint(slope, 1.0, t)
        counts.append(len(traced))
    # One trace for each further call finds what the function closes over.
    assert counts[2] - counts[1] == counts[1] - counts[0] == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.odeint(lambda y, t: y, 1.0, m.np.arange(3)), "must be an array of floats"),
        (
            lambda m: m.odeint(lambda y, t, a: y, 1.0, m.np.arange(3.0), "a"),
            r"odeint \*args must be arrays or scalars",
        ),
        (
            lambda m: m.odeint(lambda y, t: m.np.ones(3), m.np.ones(2), m.np.arange(3.0)),
            "incompatible shapes for broadcasting",
        ),
        (lambda m: m.odeint(lambda y, t: m.np.ones(2), m.np.arange(2), m.np.arange(3.0)), "carry"),
    ],
)
def test_errors(call, words):
    for m in (OURS, THEIRS):
        with pytest.raises(TypeError, match=words):
            call(m)
