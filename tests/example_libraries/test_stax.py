"""Layers against JAX's: the same keys give the same parameters, shapes and outputs; and a small model is trained."""

from types import SimpleNamespace

import jax
import jax.example_libraries.optimizers
import jax.example_libraries.stax
import numpy as np
import pytest

import plugjax
import plugjax.numpy
from plugjax.example_libraries import optimizers, stax

OURS = SimpleNamespace(jax=plugjax, np=plugjax.numpy, s=stax, o=optimizers)
THEIRS = SimpleNamespace(
    jax=jax, np=jax.numpy, s=jax.example_libraries.stax, o=jax.example_libraries.optimizers
)
BOTH = (OURS, THEIRS)
IMAGES = np.sin(np.arange(2 * 6 * 5 * 3, dtype=np.float32)).reshape(2, 6, 5, 3)
ROWS = np.sin(np.arange(8, dtype=np.float32)).reshape(2, 4)
NCHW = ("NCHW", "OIHW", "NCHW")
LAYERS = {
    "Dense": (lambda s: s.Dense(3), ROWS),
    "Conv": (lambda s: s.Conv(4, (3, 2), (2, 1), padding="SAME"), IMAGES),
    "GeneralConv": (lambda s: s.GeneralConv(NCHW, 4, (3, 2)), IMAGES),
    "ConvTranspose": (lambda s: s.ConvTranspose(2, (3, 2), (2, 1), padding="SAME"), IMAGES),
    "Conv1DTranspose": (lambda s: s.Conv1DTranspose(2, (3,), (2,)), IMAGES[0]),
    "BatchNorm": (lambda s: s.BatchNorm(), IMAGES),
    "BatchNorm of an axis": (lambda s: s.BatchNorm(1, center=False, gamma_init=s.randn(1.0)), ROWS),
    "BatchNorm centred": (lambda s: s.BatchNorm(0, scale=False, beta_init=s.randn(1.0)), ROWS),
    "BatchNorm alone": (lambda s: s.BatchNorm(0, center=False, scale=False), ROWS),
    "MaxPool": (lambda s: s.MaxPool((2, 3), (2, 1), padding="SAME"), IMAGES),
    "SumPool": (lambda s: s.SumPool((2, 3), spec="NCHW"), IMAGES),
    "AvgPool": (lambda s: s.AvgPool((2, 3), (1, 2), padding="SAME"), IMAGES),
    "AvgPool NCHW": (lambda s: s.AvgPool((2, 3), padding="SAME", spec="NCHW"), IMAGES),
    "Flatten": (lambda s: s.Flatten, IMAGES),
    "FanInConcat": (lambda s: s.serial(s.FanOut(2), s.FanInConcat(1)), ROWS),
    "parallel": (
        lambda s: s.serial(s.FanOut(3), s.parallel(s.Dense(2), s.Dense(2), s.serial(s.Relu, s.Dense(2))), s.FanInSum),
        ROWS,
    ),
    "shape_dependent": (lambda s: s.shape_dependent(lambda shape: s.Dense(shape[-1] + 1)), ROWS),
    "Dropout": (lambda s: s.serial(s.Dense(50), s.Dropout(0.3)), ROWS),
    "Dropout in tests": (lambda s: s.Dropout(0.3, mode="test"), ROWS),
    **{
        name: (lambda s, name=name: getattr(s, name), ROWS)
        for name in (
            "Tanh", "Relu", "Exp", "LogSoftmax", "Softmax", "Softplus", "Sigmoid", "Elu", "LeakyRelu", "Selu", "Gelu", "Identity",
        )
    },
}  # fmt: skip


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, x = LAYERS[name]
    outcomes = []
    for m in BOTH:
        init, apply = make(m.s)
        shape, params = init(m.jax.random.key(1), x.shape)
        y = m.jax.jit(apply)(params, m.np.asarray(x), rng=m.jax.random.key(2))
        assert tuple(shape) == y.shape
        outcomes.append([*m.jax.tree.leaves(params), y])
    for found, wanted in zip(*outcomes, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def losses(m, steps=4):
    """Losses of a classifier of images, step by step."""
    s = m.s
    init, apply = s.serial(
        s.Conv(4, (3, 3), padding="SAME"), s.BatchNorm(), s.Relu, s.MaxPool((2, 2), (2, 2)), s.Flatten, s.Dropout(0.9),
        s.Dense(3), s.LogSoftmax,
    )  # fmt: skip
    opt_init, update, params_of = m.o.adam(1e-2)
    targets = np.eye(3, dtype=np.float32)[:2]
    images = m.np.asarray(IMAGES)

    def loss(params, key):
        return -m.np.mean(m.np.sum(apply(params, images, rng=key) * targets, axis=1))

    @m.jax.jit
    def step(i, state, key):
        key, own = m.jax.random.split(key)
        value, grads = m.jax.value_and_grad(loss)(params_of(state), own)
        return value, update(i, grads, state), key

    key = m.jax.random.key(0)
    state = opt_init(init(key, IMAGES.shape)[1])
    for i in range(steps):
        value, state, key = step(i, state, key)
        yield float(value)


@pytest.fixture(scope="module")
def losses_of_jax():
    return list(losses(THEIRS))


@pytest.mark.spread(3)
def test_training(backend, losses_of_jax):
    with plugjax.default_device(backend):
        found = list(losses(OURS))
    np.testing.assert_allclose(found, losses_of_jax, rtol=2e-4)
    assert found[-1] < found[0]


def test_dropout_needs_a_key():
    for m in BOTH:
        with pytest.raises(ValueError, match="requires apply_fun to be called with a PRNG key"):
            m.s.Dropout(0.5)[1]((), ROWS)


@pytest.mark.parametrize("name", ["stax", "optimizers"])
def test_names(name):
    theirs = {"stax": jax.example_libraries.stax, "optimizers": jax.example_libraries.optimizers}[
        name
    ]
    ours = {"stax": stax, "optimizers": optimizers}[name]
    imported = {
        "Any",
        "Array",
        "Callable",
        "NamedTuple",
        "annotations",
        "functools",
        "jax",
        "jnp",
        "lax",
        "math",
        "random",
    }
    imported |= {"map", "namedtuple", "partial", "safe_map", "safe_zip", "unzip2", "zip"}
    wanted = {n for n in dir(theirs) if not n.startswith("_")} - imported
    assert wanted == set(ours.__all__)
