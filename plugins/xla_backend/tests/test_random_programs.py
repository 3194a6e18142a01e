"""Programs with many random numbers: compile time and values."""

import os
import subprocess
import sys

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import random

# Ten draws from a chain of split keys. With unrolled hashes XLA compiles this for minutes.
CHAIN = """
import numpy as np
import plugjax
import plugjax.numpy as jnp
from plugjax import random

@plugjax.jit
def chain(key, x):
    for _ in range(10):
        key, k = random.split(key)
        x = x + random.uniform(k, ()) * random.normal(k, (3,))[0]
    return x

x = np.ones(100, np.float32)
found = chain(random.PRNGKey(0), x)
with plugjax.default_device("numpy"):
    expected = chain(random.PRNGKey(0), x)
np.testing.assert_allclose(found, expected, rtol=1e-5)
"""


def test_a_chain_of_draws_compiles():
    done = subprocess.run(
        [sys.executable, "-c", CHAIN],
        env={**os.environ, "PLUGJAX_BACKEND": "xla", "PLUGJAX_CACHE_DIR": "off"},
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def operations(draws):
    def program(key):
        found = []
        for _ in range(draws):
            key, k = random.split(key)
            found.append(random.bits(k, (100,)))
        return found

    with plugjax.default_device("xla"):
        return plugjax.jit(program).lower(random.PRNGKey(0)).as_text().count("stablehlo.")


def test_each_draw_adds_a_loop_and_not_its_rounds():
    assert operations(3) - operations(2) == operations(2) - operations(1) < 250


@pytest.mark.parametrize(
    ("key_shape", "shape"),
    [((), ()), ((), (1,)), ((), (7,)), ((), (2, 3)), ((), (0,)), ((4,), (5,)), ((1,), (3,)), ((2, 3), ())],
)  # fmt: skip
def test_bits_are_those_of_the_host_kernel(key_shape, shape):
    def draw(key):
        mapped = lambda k: random.bits(k, shape)  # noqa: E731  (mapped again and again)
        for _ in key_shape:
            mapped = plugjax.vmap(mapped)
        return mapped(key)

    keys = random.split(random.key(3), key_shape) if key_shape else random.key(3)
    with plugjax.default_device("numpy"):
        expected = draw(keys)
    found = plugjax.jit(draw, device="xla")(keys)
    np.testing.assert_array_equal(found, expected)


def test_any_operands_that_go_together():
    from plugjax.lax.random_bits import threefry2x32

    rng = np.random.default_rng(0)
    for shapes in (
        ((), (), (5,), (5,)),
        ((), (5,), (), (5,)),
        ((5,), (), (5,), ()),
        ((3, 1), (1, 4), (3, 4), (1, 1)),
        ((), (), (), ()),
    ):
        operands = [rng.integers(0, 2**32, s, dtype=np.uint32) for s in shapes]
        with plugjax.default_device("numpy"):
            expected = threefry2x32(*map(jnp.asarray, operands))
        found = plugjax.jit(threefry2x32, device="xla")(*operands)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
