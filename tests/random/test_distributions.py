"""Random numbers against JAX: bit for bit where no transcendental function is involved."""

import jax
import jax.random
import ml_dtypes
import numpy as np
import pytest

import plugjax
from plugjax import random

# Bits are compared: see the root's conftest.
COMPARES_BITS = True

P = np.float32([0.1, 0.2, 0.3, 0.4])
SEEDS = [0, 123456789]
FLOATS = [np.float32, np.float16, ml_dtypes.bfloat16]
EXACT = {
    **{
        f"bits {t.__name__}": (lambda r, k, t=t: r.bits(k, (100, 7), t))
        for t in (np.uint8, np.uint16, np.uint32)
    },
    **{
        f"uniform {t.__name__}": (lambda r, k, t=t: r.uniform(k, (500,), t, -3.0, 2.5))
        for t in FLOATS
    },
    **{f"normal {t.__name__}": (lambda r, k, t=t: r.normal(k, (500,), t)) for t in FLOATS},
    **{
        f"normal {t.__name__}": (lambda r, k, t=t: r.normal(k, (500,), t))
        for t in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3b11fnuz)
    },
    "truncated_normal float8_e5m2": lambda r, k: r.truncated_normal(
        k, -1.0, 2.0, (500,), ml_dtypes.float8_e5m2
    ),
    **{
        f"randint {t.__name__}": (lambda r, k, t=t: r.randint(k, (500,), 0, 100, t))
        for t in (np.int8, np.uint8, np.int16, np.int32, np.uint32)
    },
    "uniform of a large shape": lambda r, k: r.uniform(k, (33, 1000)),
    "uniform of arrays": lambda r, k: r.uniform(
        k, (4, 3), minval=np.arange(3, dtype=np.float32), maxval=9.0
    ),
    "randint beyond the dtype": lambda r, k: r.randint(k, (500,), 3, 2**31 - 1, np.int8),
    "randint of an empty interval": lambda r, k: r.randint(k, (5,), 5, 5),
    "randint of arrays": lambda r, k: r.randint(k, (4, 3), np.arange(3), np.arange(4)[:, None] + 7),
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, (500,)),
    "bernoulli high": lambda r, k: r.bernoulli(k, 0.3, (500,), mode="high"),
    "permutation": lambda r, k: r.permutation(k, 5000),
    "permutation of rows": lambda r, k: r.permutation(k, np.arange(12).reshape(4, 3)),
    "permutation independent": lambda r, k: r.permutation(k, np.arange(12).reshape(4, 3), 1, True),
    "choice": lambda r, k: r.choice(k, 10, (7,)),
    "choice without replacement": lambda r, k: r.choice(k, 10, (7,), replace=False),
    "choice of weights": lambda r, k: r.choice(k, 4, (50,), p=P),
    "choice of weights without replacement": lambda r, k: r.choice(k, 4, (3,), replace=False, p=P),
    "categorical": lambda r, k: r.categorical(k, np.log(P), shape=(100,)),
    "categorical along axis 0": lambda r, k: r.categorical(
        k, np.log(np.stack([P, P[::-1]], 1)), axis=0
    ),
    "categorical without replacement": lambda r, k: r.categorical(
        k, np.log(P), shape=(3,), replace=False
    ),
    "rademacher": lambda r, k: r.rademacher(k, (100,)),
}
CLOSE = {
    **{
        name: (lambda r, k, name=name: getattr(r, name)(k, (100,)))
        for name in ("exponential", "gumbel", "laplace", "logistic", "cauchy", "maxwell")
    },
    "normal complex": lambda r, k: r.normal(k, (100,), np.complex64),
    "truncated_normal": lambda r, k: r.truncated_normal(k, -2.0, 2.0, (100,)),
    "lognormal": lambda r, k: r.lognormal(k, 2.0, (50,)),
    "pareto": lambda r, k: r.pareto(k, 2.0, (50,)),
    "rayleigh": lambda r, k: r.rayleigh(k, 2.0, (50,)),
    "weibull_min": lambda r, k: r.weibull_min(k, 1.0, 2.0, (50,)),
    "triangular": lambda r, k: r.triangular(k, 0.0, 0.3, 1.0, (50,)),
    "geometric": lambda r, k: r.geometric(k, 0.3, (50,)),
    "wald": lambda r, k: r.wald(k, 1.5, (50,)),
    "double_sided_maxwell": lambda r, k: r.double_sided_maxwell(k, 1.0, 2.0, (50,)),
    "gumbel high": lambda r, k: r.gumbel(k, (100,), mode="high"),
}


def _both(draw, seed, make="key"):
    ours = np.asarray(draw(random, getattr(random, make)(seed)))
    theirs = np.asarray(draw(jax.random, getattr(jax.random, make)(seed)))
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    return ours, theirs


@pytest.mark.spread(8)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", EXACT)
def test_bits_are_those_of_jax(name, seed):
    # Where the processor computes with 16 bits, compiled JAX rounds once for several operations.
    with jax.disable_jit("float16" in name):
        ours, theirs = _both(EXACT[name], seed)
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.spread(8)
@pytest.mark.parametrize("name", CLOSE)
def test_values_are_those_of_jax(name):
    ours, theirs = _both(CLOSE[name], 7)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_raw_keys_give_the_same_numbers():
    ours, theirs = _both(lambda r, k: r.normal(k, (10,)), 3, "PRNGKey")
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_float64(name):
    with jax.enable_x64(True), plugjax.enable_x64(True):
        ours, theirs = _both(lambda r, k: getattr(r, name)(k, (1000,)), 5)
        assert ours.dtype == np.float64
        assert ours.tobytes() == theirs.tobytes()


def test_uint64_and_int64():
    with jax.enable_x64(True), plugjax.enable_x64(True):
        for draw in (lambda r, k: r.bits(k, (100,)), lambda r, k: r.randint(k, (100,), 0, 2**40)):
            ours, theirs = _both(draw, 5)
            assert ours.tobytes() == theirs.tobytes()


def test_jit_gives_the_numbers_of_eager_evaluation():
    k = random.key(1)
    compiled = plugjax.jit(lambda k: random.normal(k, (5,)))(k)
    np.testing.assert_array_equal(compiled, random.normal(k, (5,)))


def test_uniform_is_differentiable_in_its_bounds():
    slope = plugjax.grad(lambda high: random.uniform(random.key(0), maxval=high))(2.0)
    np.testing.assert_allclose(slope, random.uniform(random.key(0)), rtol=1e-6)


def test_errors():
    k = random.key(0)
    with pytest.raises(ValueError, match="float dtype"):
        random.uniform(k, dtype=np.int32)
    with pytest.raises(TypeError, match="integer"):
        random.randint(k, (), 0, 5, np.float32)
    with pytest.raises(ValueError, match="larger sample"):
        random.choice(k, 3, (4,), replace=False)
    with pytest.raises(TypeError, match="static integers"):
        random.uniform(k, 2.5)
