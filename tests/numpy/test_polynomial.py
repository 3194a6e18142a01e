"""Polynomials against JAX."""

import jax
import jax.numpy as jax_numpy
import numpy as onp
import pytest

import plugjax
import plugjax.numpy as jnp

P = onp.array([2.0, -3.0, 1.0], onp.float32)
Q = onp.array([1.0, 4.0], onp.float32)
I = onp.array([0, 3, 1], onp.int32)  # Integers, with a leading zero.
X = onp.linspace(-1, 2, 7).astype(onp.float32)
Y = onp.stack([X**2 - X, 3 * X**3], 1)


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul", "polydiv"])
@pytest.mark.parametrize("pair", [(P, Q), (Q, P), (I, Q), (I, I[1:])], ids=str)
def test_pairs(agree, name, pair):
    agree(lambda np: getattr(np, name)(*pair))


@pytest.mark.parametrize(
    "expression",
    [
        lambda np: np.polyval(P, X),
        lambda np: np.polyval(P, 2),
        lambda np: np.polyval(I, onp.arange(6).reshape(2, 3)),
        lambda np: np.polyval(onp.stack([P, P]).T, onp.float32(2)),
        lambda np: np.polyder(P),
        lambda np: np.polyder(I, 2),
        lambda np: np.polyder(P, -1),
        lambda np: np.polyint(P),
        lambda np: np.polyint(I, 3, onp.array([1, 2, 3])),
        lambda np: np.polyint(P, 2, onp.array([1, 2, 3])),
        lambda np: np.polyint(P, -1),
        lambda np: np.poly(onp.array([1.0, 2.0, -3.0], onp.float32)),
        lambda np: np.poly(onp.array([1, 2])),
        lambda np: np.poly(onp.zeros(0, onp.float32)),
        lambda np: np.polymul(I, Q, trim_leading_zeros=True),
        lambda np: np.polydiv(
            onp.float32([1, 0, -1]), onp.float32([1, 1]), trim_leading_zeros=True
        ),
        lambda np: np.polyfit(X, Y[:, 0], 2),
        lambda np: np.polyfit(X, Y, 3, w=onp.arange(1.0, 8.0, dtype=onp.float32)),
        lambda np: np.polyfit(X, Y[:, 1], 1, cov=True),
        lambda np: np.polyfit(X, Y[:, 1], 1, cov="unscaled"),
        lambda np: np.polyfit(X, Y[:, 1], 1, full=True),
        lambda np: np.polyfit(X, Y[:3], 1),
        lambda np: np.polyfit(X, Y, -1),
        lambda np: np.roots(onp.zeros(3, onp.float32)),
        lambda np: np.roots(P[:1]),
        lambda np: np.roots(P[None]),
    ],
)
def test_cases(agree, expression):
    agree(expression)


@pytest.mark.parametrize("p", [P, [1, 0, 1], [0, 0, 1, -6, 11, -6], [2, 0, 0]], ids=str)
def test_roots(p):
    p = onp.asarray(p, onp.float32)
    expected = onp.sort_complex(onp.roots(p))
    onp.testing.assert_allclose(onp.sort_complex(onp.asarray(jnp.roots(p))), expected, atol=1e-4)
    traced = onp.asarray(plugjax.jit(lambda p: jnp.roots(p, strip_zeros=False))(p))
    lost = onp.isnan(traced)
    assert lost.sum() == onp.flatnonzero(p)[0]
    onp.testing.assert_allclose(onp.sort_complex(traced[~lost]), expected, atol=1e-4)


def test_roots_of_traced_coefficients_need_no_stripping():
    with pytest.raises(plugjax.errors.ConcretizationTypeError):
        plugjax.jit(jnp.roots)(P)


def test_polyval_gradient():
    ours = plugjax.grad(lambda p: jnp.polyval(p, X).sum())(jnp.asarray(P))
    theirs = jax.grad(lambda p: jax_numpy.polyval(p, X).sum())(P)
    onp.testing.assert_allclose(ours, theirs, rtol=1e-6)
