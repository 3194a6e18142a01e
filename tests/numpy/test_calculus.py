"""Differences, integrals, interpolation, convolution and windows against JAX."""

import jax
import jax.numpy as jax_numpy
import numpy as onp
import pytest

import plugjax
import plugjax.numpy as jnp

_rng = onp.random.RandomState(0)
V = _rng.randn(6).astype(onp.float32)
W = _rng.randn(3).astype(onp.float32)
F = _rng.randn(4, 5).astype(onp.float32)
Z = (F[0] + 1j * F[1]).astype(onp.complex64)
XP = onp.array([0.0, 1.0, 1.0, 2.5], onp.float32)
FP = onp.array([1.0, 3.0, 2.0, -1.0], onp.float32)
AT = onp.array([-1.0, 0.0, 0.5, 1.0, 2.0, 4.0], onp.float32)
STEPS = onp.array([0.0, 1.0, 3.0, 4.0], onp.float32)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(
    "pair", [(V, W), (W, V), (V.astype(onp.int32), W), (Z, W), (W, Z)], ids=range(5)
)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolution(agree, name, pair, mode):
    agree(lambda np: getattr(np, name)(*pair, mode))


@pytest.mark.parametrize(
    "expression",
    [
        lambda np: np.convolve(V, W[:0]),
        lambda np: np.convolve(F, W),
        lambda np: np.convolve(V, W, "some"),
        lambda np: np.convolve(onp.arange(4), onp.arange(2), preferred_element_type=onp.int32),
        lambda np: np.gradient(V),
        lambda np: np.gradient(V, 0.5),
        lambda np: np.gradient(onp.arange(5) ** 2),
        lambda np: np.gradient(F),
        lambda np: np.gradient(F, STEPS, axis=0),
        lambda np: np.gradient(F, STEPS, 2),
        lambda np: np.gradient(F, 1, 2, 3),
        lambda np: np.gradient(F, STEPS, axis=1),
        lambda np: np.gradient(F[:1]),
        lambda np: np.gradient(F, axis=()),
        lambda np: np.gradient(V, edge_order=2),
        lambda np: np.trapezoid(V),
        lambda np: np.trapezoid(onp.arange(4)),
        lambda np: np.trapezoid(F, dx=0.1, axis=0),
        lambda np: np.trapezoid(F, STEPS, axis=0),
        lambda np: np.trapezoid(F, F, axis=0),
        lambda np: np.unwrap(V * 10),
        lambda np: np.unwrap(F * 10, axis=0, discont=4.0),
        lambda np: np.unwrap(onp.array([0, 4, 1, 6, 3]), period=4),
        lambda np: np.unwrap(Z),
        lambda np: np.interp(AT, XP, FP),
        lambda np: np.interp(0.5, XP, FP),
        lambda np: np.interp(1, onp.arange(3), onp.arange(3)),
        lambda np: np.interp(AT, XP, FP, left=-7, right="extrapolate"),
        lambda np: np.interp(AT, XP, FP, left="extrapolate"),
        lambda np: np.interp(AT, XP, FP, left="other"),
        lambda np: np.interp(AT * 3, XP, FP, period=2.2),
        lambda np: np.interp(AT, XP, FP[:2]),
        lambda np: np.interp(Z, XP, FP),
        lambda np: np.i0(onp.linspace(-20, 20, 41).astype(onp.float32)),
        lambda np: np.i0(2),
        lambda np: np.i0(Z),
        lambda np: np.kaiser(5, 8.0),
        lambda np: np.kaiser(1, 8.0),
        lambda np: np.gcd(onp.array([12, -7, 0]), onp.array([[18], [0]])),
        lambda np: np.gcd(12, 18),
        lambda np: np.lcm(onp.array([4, -6, 0]), onp.array([6, 4, 5])),
        lambda np: np.lcm(onp.array([4, 6], onp.uint8), onp.array([6, 4], onp.uint8)),
        lambda np: np.gcd(1.5, 2),
    ],
)
def test_cases(agree, expression):
    agree(expression)


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_windows(agree, name, size):
    agree(lambda np: getattr(np, name)(size))


@pytest.mark.parametrize(
    "function",
    [
        lambda np, x: np.interp(x, XP, FP).sum(),
        lambda np, x: np.interp(AT, XP, FP * x[0]).sum(),
        lambda np, x: np.convolve(x, W).sum(),
        lambda np, x: (np.gradient(x, 0.5) ** 2).sum(),
        lambda np, x: np.trapezoid(x**2, dx=0.1),
        lambda np, x: np.i0(3 * x).sum(),
    ],
)
def test_gradients_under_jit(function):
    ours = plugjax.jit(plugjax.grad(lambda x: function(jnp, x)))(jnp.asarray(V))
    theirs = jax.grad(lambda x: function(jax_numpy, x))(V)
    onp.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-5)


def test_i0_in_float64():
    with plugjax.enable_x64(True):
        x = onp.linspace(0, 100, 333)
        onp.testing.assert_allclose(jnp.i0(x), onp.i0(x), rtol=1e-12)
