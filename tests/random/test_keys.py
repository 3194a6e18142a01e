"""Keys against JAX, bit for bit."""

import jax
import jax.random
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import random

# Bits are compared: see the root's conftest.
COMPARES_BITS = True

SEEDS = [0, 1, -5, 2**40 + 7, 123456789]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", ["key", "PRNGKey"])
def test_words(seed, make):
    ours, theirs = getattr(random, make)(seed), getattr(jax.random, make)(seed)
    assert (ours.shape, str(ours.dtype)) == (theirs.shape, str(theirs.dtype))
    for derive in (
        lambda r, k: k,
        lambda r, k: r.split(k, 5),
        lambda r, k: r.split(k, (3, 4)),
        lambda r, k: r.fold_in(k, 17),
        lambda r, k: r.clone(k),
    ):
        found = random.key_data(derive(random, ours))
        np.testing.assert_array_equal(found, jax.random.key_data(derive(jax.random, theirs)))


def test_repr_is_that_of_jax():
    assert repr(random.key(0)) == repr(jax.random.key(0))
    assert repr(random.split(random.key(0))) == repr(jax.random.split(jax.random.key(0)))


def test_keys_can_be_mapped_indexed_and_iterated():
    keys = random.split(random.key(3), 4)
    mapped = plugjax.vmap(lambda k: random.normal(k, (3,)))(keys)
    for i, k in enumerate(keys):
        np.testing.assert_array_equal(mapped[i], random.normal(k, (3,)))
        np.testing.assert_array_equal(random.key_data(keys[i]), random.key_data(k))


def test_fold_in_can_be_mapped():
    ours = plugjax.vmap(lambda i: random.fold_in(random.key(0), i))(jnp.arange(3))
    theirs = jax.vmap(lambda i: jax.random.fold_in(jax.random.key(0), i))(np.arange(3))
    np.testing.assert_array_equal(random.key_data(ours), jax.random.key_data(theirs))


def test_jaxpr_holds_key_primitives():
    text = str(plugjax.make_jaxpr(lambda k: random.bits(random.split(k)[0], (3,)))(random.key(0)))
    assert "key<fry>[2] = random_split[shape=(2,)]" in text
    assert "random_bits[bit_width=32 shape=(3,)]" in text


def test_errors():
    with pytest.raises(TypeError, match=r"random\.key"):
        random.split(3)
    with pytest.raises(TypeError, match="uint32"):
        random.split(jnp.zeros(2))
    with pytest.raises(ValueError, match="vmap"):
        random.uniform(random.split(random.key(0)))
    with pytest.raises(TypeError, match="integer"):
        random.key(1.5)
    with pytest.raises(ValueError, match="no generator of random numbers 'nope'"):
        random.key(0, impl="nope")


def test_kind_of_dtype():
    assert jnp.issubdtype(random.key(0).dtype, random.prng_key)
    assert not jnp.issubdtype(random.PRNGKey(0).dtype, random.prng_key)
    assert random.key_impl(random.key(0)) == "threefry2x32"


def test_keys_are_equal_if_their_words_are(on_backend):
    keys = plugjax.random.split(plugjax.random.key(0), 3)
    theirs = jax.random.split(jax.random.key(0), 3)
    for compare in (lambda a, b: a == b, lambda a, b: a != b):
        for i in (slice(None), 1):
            expected = compare(theirs, theirs[i])
            np.testing.assert_array_equal(compare(keys, keys[i]), expected)
            np.testing.assert_array_equal(plugjax.jit(compare)(keys, keys[i]), expected)
    assert bool(keys[0] == keys[0])
    with pytest.raises(TypeError):
        keys < keys  # noqa: B015
