"""``jax_threefry_partitionable=False``: JAX's numbers with this option."""

import jax
import numpy as np
import pytest

import plugjax
from plugjax import random

SHAPES = [(), (0,), (1,), (2,), (3,), (4,), (7,), (2, 3), (3, 1, 5), (2, 0, 3), (64,), (1001,)]


@pytest.fixture(params=[False, True], ids=["stream", "partitionable"], autouse=True)
def partitionable(request):
    with (
        plugjax.threefry_partitionable(request.param),
        jax.threefry_partitionable(request.param),
    ):
        yield request.param


def both(draw, *arguments):
    """The numbers of plugjax and of JAX, drawn by ``draw(jax, random, *arguments)``."""
    return draw(plugjax, random, *arguments), draw(jax, jax.random, *arguments)


def assert_same(found, expected, rtol=0.0):
    for a, b in zip(plugjax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        if rtol:
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=rtol)
        else:
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.spread(8)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_bits_of_all_widths_and_shapes(width, shape):
    with plugjax.enable_x64(width == 64), jax.enable_x64(width == 64):
        assert_same(*both(lambda _, r: r.bits(r.key(7), shape, f"uint{width}")))


@pytest.mark.spread(3)
@pytest.mark.parametrize("shape", [(), (1,), (2,), (5,), (2, 3), (0,), (3, 2, 2)], ids=str)
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_split_and_fold_in(shape, impl):
    assert_same(*both(lambda _, r: r.key_data(r.split(r.key(3, impl=impl), shape))))
    assert_same(*both(lambda _, r: r.key_data(r.fold_in(r.key(3, impl=impl), 12345))))
    assert_same(*both(lambda _, r: r.split(r.PRNGKey(3), 4)))


@pytest.mark.parametrize("width", [8, 32])
@pytest.mark.parametrize("keys", [(3,), (2, 2)], ids=str)
def test_batches_of_keys(keys, width):
    def draw(module, r):
        mapped = lambda k: (r.bits(k, (5,), f"uint{width}"), r.key_data(r.split(k, 3)))  # noqa: E731
        for _ in keys:
            mapped = module.vmap(mapped)
        return mapped(r.split(r.key(1), keys))

    assert_same(*both(draw))


@pytest.mark.spread(6)
@pytest.mark.parametrize("machine", ["numpy", "xla", "iree"])
def test_compiled_for_each_backend(machine):
    def draw(module, r):
        def program(key):
            a, b = r.split(key)
            return r.bits(a, (7,)), r.bits(b, (9,), "uint8"), r.randint(a, (4,), 0, 1000)

        options = {"device": machine} if module is plugjax else {}
        return module.jit(program, **options)(r.key(11))

    assert_same(*both(draw))


def test_the_setting_is_part_of_what_is_compiled():
    f = plugjax.jit(lambda key: random.bits(key, (5,)))
    found = []
    for setting in (False, True, False):
        with plugjax.threefry_partitionable(setting):
            found.append(np.asarray(f(random.key(0))))
    np.testing.assert_array_equal(found[0], found[2])
    assert not np.array_equal(found[0], found[1])


DISTRIBUTIONS = {
    "uniform": lambda r, k: r.uniform(k, (5, 3)),
    "uniform in 16 bits": lambda r, k: r.uniform(k, (7,), "float16"),
    "bfloat16": lambda r, k: r.uniform(k, (7,), "bfloat16"),
    "normal": lambda r, k: r.normal(k, (9,)),
    "truncated normal": lambda r, k: r.truncated_normal(k, -1.0, 1.0, (5,)),
    "randint": lambda r, k: r.randint(k, (11,), -5, 100),
    "randint in 8 bits": lambda r, k: r.randint(k, (11,), -5, 100, "int8"),
    "permutation": lambda r, k: r.permutation(k, 31),
    "choice": lambda r, k: r.choice(k, 10, (4,), replace=False),
    "categorical": lambda r, k: r.categorical(k, np.zeros((3, 4), np.float32)),
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, (17,)),
    "gumbel": lambda r, k: r.gumbel(k, (6,)),
    "exponential": lambda r, k: r.exponential(k, (6,)),
    "gamma": lambda r, k: r.gamma(k, 2.5, (6,)),
    "beta": lambda r, k: r.beta(k, 2.0, 3.0, (4,)),
    "dirichlet": lambda r, k: r.dirichlet(k, np.ones(3, np.float32), (2,)),
    "poisson": lambda r, k: r.poisson(k, 4.0, (9,)),
    "binomial": lambda r, k: r.binomial(k, 10, 0.4, (9,)),
    "laplace": lambda r, k: r.laplace(k, (5,)),
    "cauchy": lambda r, k: r.cauchy(k, (5,)),
    "t": lambda r, k: r.t(k, 3.0, (5,)),
    "rademacher": lambda r, k: r.rademacher(k, (12,)),
    "ball": lambda r, k: r.ball(k, 3, shape=(2,)),
    "orthogonal": lambda r, k: r.orthogonal(k, 3),
    "multivariate normal": lambda r, k: r.multivariate_normal(
        k, np.zeros(2, np.float32), np.eye(2, dtype=np.float32), (3,)
    ),
}


@pytest.mark.spread(8)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_everything_that_is_made_of_bits(name):
    draw = DISTRIBUTIONS[name]
    assert_same(*both(lambda _, r: draw(r, r.key(5))), rtol=2e-5)
