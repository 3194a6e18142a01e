"""Resampling of images against JAX."""

import jax
import numpy as onp
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import image

_rng = onp.random.RandomState(0)
X = _rng.rand(5, 7, 2).astype(onp.float32)
METHODS = ["nearest", "linear", "lanczos3", "lanczos5", "cubic", "cubic-pytorch", "area"]


@pytest.mark.spread(2)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("shape", [(9, 4, 2), (3, 14, 2), (5, 7, 3)], ids=str)
def test_resize(method, antialias, shape):
    found = image.resize(X, shape, method, antialias)
    expected = jax.image.resize(X, shape, method, antialias)
    assert found.dtype == expected.dtype
    onp.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.spread(2)
@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize("antialias", [True, False])
def test_scale_and_translate(method, antialias):
    args = ((6, 6, 2), (0, 1), onp.float32([1.3, 0.6]), onp.float32([0.7, -1.1]), method, antialias)
    found = plugjax.jit(lambda x: image.scale_and_translate(x, *args))(X)
    onp.testing.assert_allclose(
        found, jax.image.scale_and_translate(X, *args), rtol=2e-5, atol=2e-5
    )


def test_integers_become_floating():
    x = onp.arange(6, dtype=onp.uint8).reshape(2, 3)
    for method in ("nearest", "linear"):
        found = image.resize(x, (4, 5), method)
        expected = jax.image.resize(x, (4, 5), method)
        assert found.dtype == expected.dtype
        onp.testing.assert_allclose(found, expected, rtol=1e-5)


def test_gradients():
    scale, move = onp.float32([1.3]), onp.float32([0.2])

    def loss(module):
        return lambda x, s, t: (
            module.scale_and_translate(x, (6, 7, 2), (0,), s, t, "cubic") ** 2
        ).sum()

    ours = plugjax.grad(loss(image), argnums=(0, 1, 2))(X, scale, move)
    theirs = jax.grad(loss(jax.image), argnums=(0, 1, 2))(X, scale, move)
    for a, b in zip(ours, theirs, strict=True):
        onp.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.resize(X, (3, 3), "linear"),
        lambda m: m.resize(X, (3, 3, 3), "blurred"),
        lambda m: m.scale_and_translate(X, (3, 3, 2), (0,), onp.ones(1), onp.ones(1), "nearest"),
    ],
)
def test_errors(call):
    with pytest.raises(ValueError):
        call(jax.image)
    with pytest.raises(ValueError):
        call(image)


def test_methods_have_names():
    for name in METHODS:
        assert (
            image.ResizeMethod.from_string(name).name
            == jax.image.ResizeMethod.from_string(name).name
        )
    assert jnp.allclose(
        image.resize(X, (2, 2, 2), image.ResizeMethod.LINEAR),
        image.resize(X, (2, 2, 2), "bilinear"),
    )
