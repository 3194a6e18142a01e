"""Activations, normalisation, initializers and attention against JAX."""

import jax
import jax.nn
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import nn, random

_rng = np.random.RandomState(0)
X = (_rng.randn(3, 4) * 3).astype(np.float32)
X[0, 0] = 0.0
MASK = _rng.rand(3, 4) > 0.3
ACTIVATIONS = [
    "relu",
    "relu6",
    "sigmoid",
    "softplus",
    "soft_sign",
    "silu",
    "log_sigmoid",
    "leaky_relu",
    "hard_sigmoid",
    "hard_silu",
    "hard_tanh",
    "elu",
    "celu",
    "selu",
    "gelu",
    "glu",
    "tanh",
    "identity",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "mish",
    "softmax",
    "log_softmax",
    "logsumexp",
    "standardize",
]


def _same(ours, theirs, tolerance=2e-5):
    assert (str(ours.dtype), ours.shape, ours.weak_type) == (
        str(theirs.dtype),
        theirs.shape,
        theirs.weak_type,
    )
    np.testing.assert_allclose(
        np.asarray(ours, np.float64), np.asarray(theirs, np.float64), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values_and_gradients(name):
    _same(getattr(nn, name)(X), getattr(jax.nn, name)(X))
    ours = plugjax.grad(lambda x: (getattr(nn, name)(x) ** 2).sum())(jnp.asarray(X))
    theirs = jax.grad(lambda x: (getattr(jax.nn, name)(x) ** 2).sum())(X)
    _same(ours, theirs, 2e-4)


@pytest.mark.parametrize(
    "expression",
    [
        lambda nn: nn.gelu(X, approximate=False),
        lambda nn: nn.softmax(X, axis=(0, 1)),
        lambda nn: nn.softmax(X, where=MASK),
        lambda nn: nn.log_softmax(X, where=MASK),
        lambda nn: nn.logsumexp(X, axis=1, keepdims=True),
        lambda nn: nn.logsumexp(X, axis=0, b=np.abs(X) + 1),
        lambda nn: nn.logsumexp(X, where=MASK),
        lambda nn: nn.standardize(X, where=MASK),
        lambda nn: nn.one_hot(np.array([0, 2, 5, -1]), 4),
        lambda nn: nn.one_hot(np.array([0, 2]), 4, axis=0, dtype=np.int32),
        lambda nn: nn.relu(1.5),
    ],
)
def test_cases(expression):
    _same(expression(nn), expression(jax.nn))


def test_relu_has_no_slope_at_zero():
    assert plugjax.grad(nn.relu)(0.0) == 0


@pytest.mark.parametrize(
    "name",
    [
        "uniform",
        "normal",
        "truncated_normal",
        "glorot_normal",
        "glorot_uniform",
        "he_normal",
        "lecun_uniform",
    ],
)
def test_initializers(name):
    ours = getattr(nn.initializers, name)()(random.key(3), (30, 40))
    theirs = getattr(jax.nn.initializers, name)()(jax.random.key(3), (30, 40))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("orthogonal", (5, 3)),
        ("orthogonal", (2, 3, 8)),
        ("delta_orthogonal", (3, 4, 5)),
        ("delta_orthogonal", (3, 2, 4, 4)),
    ],
)
def test_orthogonal_initializers(name, shape):
    ours = getattr(nn.initializers, name)(2.0)(random.key(3), shape)
    theirs = getattr(jax.nn.initializers, name)(2.0)(jax.random.key(3), shape)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_orthogonal_initializers_of_wrong_shapes_raise():
    for init, shape in (
        (nn.initializers.orthogonal(), (3,)),
        (nn.initializers.delta_orthogonal(), (3, 4)),
    ):
        with pytest.raises(ValueError, match="requires"):
            init(random.key(0), shape)
    with pytest.raises(ValueError, match="fan_in"):
        nn.initializers.delta_orthogonal()(random.key(0), (3, 5, 4))


def test_initializer_of_a_vector_raises():
    with pytest.raises(ValueError, match="at least 2D"):
        nn.initializers.he_normal()(random.key(0), (3,))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True},
        {"scale": 0.3},
        {"local_window_size": (1, 0)},
        {"bias": _rng.randn(2, 4, 5, 6).astype(np.float32)},
        {"mask": _rng.rand(2, 1, 5, 6) > 0.3},
        {
            "query_seq_lengths": np.array([3, 5], np.int32),
            "key_value_seq_lengths": np.array([4, 6], np.int32),
        },
    ],
    ids=lambda o: "-".join(o) or "plain",
)
def test_attention(options):
    q, k, v = (_rng.randn(2, n, h, 8).astype(np.float32) for n, h in ((5, 4), (6, 2), (6, 2)))
    theirs = {
        name: jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x
        for name, x in options.items()
    }
    _same(
        nn.dot_product_attention(q, k, v, **options),
        jax.nn.dot_product_attention(*map(jax.numpy.asarray, (q, k, v)), **theirs),
    )


@pytest.mark.parametrize("name", ["log_softmax", "softmax", "logsumexp"])
def test_what_is_masked_has_no_derivative(name):
    x = np.array([[1, 2, 3], [np.inf, 1, 2], [np.nan, 0.5, 1], [-np.inf, 1, 0]], "float32")
    mask = np.array([[0, 0, 0], [0, 1, 1], [0, 1, 1], [1, 1, 0]], bool)

    def gradient(module):
        def loss(x):
            y = getattr(module.nn, name)(x, axis=-1, where=mask)
            weights = np.arange(y.size, dtype="float32").reshape(y.shape)
            return module.numpy.sum(module.numpy.where(module.numpy.isfinite(y), y * weights, 0))

        return module.grad(loss)(module.numpy.asarray(x))

    found = gradient(plugjax)
    np.testing.assert_allclose(found, gradient(jax), rtol=1e-4, atol=1e-6)
    assert np.isfinite(found).all()
