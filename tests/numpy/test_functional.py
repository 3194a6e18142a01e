"""vectorize, apply_along_axis, piecewise and universal functions against JAX."""

import jax
import jax.numpy as jax_numpy
import numpy as onp
import pytest

import plugjax
import plugjax.numpy as jnp

_rng = onp.random.RandomState(0)
F = _rng.randn(3, 4).astype(onp.float32)
V = _rng.randn(4).astype(onp.float32)
T = _rng.randn(2, 3, 4).astype(onp.float32)
I = onp.array([[3, 1, 2], [5, 4, 0]], onp.int32)


def _two(x, y):
    return x + y, x * y


def _product(x, y):
    return 10 * x + y


def _ufunc(np, **options):
    return np.frompyfunc(_product, 2, 1, **options)


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    "expression",
    [
        lambda np: np.vectorize(lambda x, y: x + y)(F, V),
        lambda np: np.vectorize(lambda x, y: x + y)(F[:, :1], V[None]),
        lambda np: np.vectorize(lambda x: x + 1)(3),
        lambda np: np.vectorize(_two)(F[:1], V),
        lambda np: np.vectorize(np.dot, signature="(n,m),(m)->(n)")(T, V),
        lambda np: np.vectorize(np.dot, signature="(n),(n)->()")(T, T[:1]),
        lambda np: np.vectorize(lambda x: (x, x.sum()), signature="(n)->(n),()")(F),
        lambda np: np.vectorize(lambda x, n: x * n, excluded={1})(F, 2),
        lambda np: np.vectorize(lambda x, n=1: x * n, excluded={"n"})(F, n=2),
        lambda np: np.vectorize(lambda x, y: x if y is None else x + y)(F, None),
        lambda np: np.vectorize(np.dot, signature="(n,m),(m)->(n)")(T, V[:3]),
        lambda np: np.vectorize(np.dot, signature="(n,m),(m)->(n)")(V, V),
        lambda np: np.vectorize(lambda x: x, signature="(n)->()")(F),
        lambda np: np.vectorize(lambda x: x, signature="(n)->(n),(n)")(F),
        lambda np: np.vectorize(lambda x: x, signature="n->n")(F),
        lambda np: np.vectorize(lambda x: x, signature="(n),(n)->()")(F),
        lambda np: np.vectorize(lambda x: x, excluded={-1}),
        lambda np: np.vectorize(lambda x: x, excluded={1.5}),
        lambda np: np.apply_along_axis(lambda v: v.sum(), 1, T),
        lambda np: np.apply_along_axis(lambda v: v[:1], 0, T),
        lambda np: np.apply_along_axis(lambda v, k: np.outer(v, v) * k, -2, T, 2),
        lambda np: np.apply_over_axes(np.sum, T, [0, 2]),
        lambda np: np.apply_over_axes(lambda x, a: x.sum(), T, [0]),
        lambda np: np.piecewise(F, [F < 0, F > 0.5], [lambda x: -x, 7]),
        lambda np: np.piecewise(F, [F < 0], [lambda x, k: x * k, lambda x, k: k], 3.0),
        lambda np: np.piecewise(F, np.stack([F < 0, F < 1]), [1, 2]),
        lambda np: np.piecewise(F, [F < 0], [1, 2, 3]),
        lambda np: np.piecewise(I, [I < 2], [1.5]),
        lambda np: _ufunc(np)(I, I[:1]),
        lambda np: _ufunc(np).reduce(I),
        lambda np: _ufunc(np).reduce(I, axis=1, keepdims=True),
        lambda np: _ufunc(np).reduce(I, axis=None),
        lambda np: _ufunc(np, identity=1).reduce(I, axis=1, where=I > 1),
        lambda np: _ufunc(np).reduce(I, axis=1, where=I > 1),
        lambda np: _ufunc(np).reduce(I, initial=3),
        lambda np: _ufunc(np).reduce(I, dtype=onp.float32),
        lambda np: _ufunc(np).reduce(I[:0]),
        lambda np: _ufunc(np, identity=2).reduce(I[:0]),
        lambda np: _ufunc(np).accumulate(I, axis=1),
        lambda np: _ufunc(np).accumulate(I),
        lambda np: _ufunc(np).accumulate(I[:0]),
        lambda np: _ufunc(np).at(I[0], onp.array([0, 0, 2]), 1, inplace=False),
        lambda np: _ufunc(np).at(I, (onp.array([0, 1]), onp.array([0, 0])), 1, inplace=False),
        lambda np: _ufunc(np).at(I[0], onp.array([0, 0, 2]), 1),
        lambda np: _ufunc(np).reduceat(I[0], onp.array([0, 2, 1])),
        lambda np: _ufunc(np).reduceat(I, onp.array([0, 2, 1]), axis=1),
        lambda np: _ufunc(np).outer(I, I[0]),
        lambda np: np.frompyfunc(lambda x: x, 1, 1).reduce(I),
        lambda np: repr(_ufunc(np)),
        lambda np: (_ufunc(np).nin, _ufunc(np).nout, _ufunc(np).identity),
    ],
)
def test_cases(agree, expression):
    agree(expression)


def test_piecewise_gradient_under_jit():
    def f(np, x):
        return np.piecewise(x, [x < 0], [lambda v: v * v, lambda v: 3 * v]).sum()

    ours = plugjax.jit(plugjax.grad(lambda x: f(jnp, x)))(jnp.asarray(F))
    onp.testing.assert_allclose(ours, jax.grad(lambda x: f(jax_numpy, x))(F), rtol=1e-6)


def test_ufuncs_of_one_function_are_equal():
    assert _ufunc(jnp) == _ufunc(jnp)
    assert hash(_ufunc(jnp)) == hash(_ufunc(jnp))
    assert isinstance(_ufunc(jnp), jnp.ufunc)
