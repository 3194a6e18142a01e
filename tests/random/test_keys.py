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


def _number(lax):
    return lax.ScatterDimensionNumbers((), (0,), (0,))


ON_KEYS = {
    "set one": lambda m, k: k.at[1].set(k[0]),
    "set several": lambda m, k: k.at[np.array([0, 2])].set(k[1:]),
    "set a slice": lambda m, k: k.at[1:].set(k[:2]),
    "set, compiled": lambda m, k: m.jit(lambda k, i: k.at[i].set(k[0]))(k, 1),
    "set, mapped": lambda m, k: m.vmap(lambda i: k.at[i].set(k[0]))(np.arange(2)),
    "scatter": lambda m, k: m.lax.scatter(k, np.array([[1]]), k[:1], _number(m.lax)),
    "full": lambda m, k: m.numpy.full((2, 3), k),
    "full of one": lambda m, k: m.numpy.full((2,), k[0]),
    "full of words": lambda m, k: m.numpy.full((2,), 7, k.dtype),
    "lax.full": lambda m, k: m.lax.full((2,), k[0]),
    "full_like": lambda m, k: m.numpy.full_like(k, k[0]),
    "zeros": lambda m, k: m.numpy.zeros((2,), k.dtype),
    "ones": lambda m, k: m.numpy.ones((2,), k.dtype),
    "empty": lambda m, k: m.numpy.empty((2,), k.dtype),
    "zeros_like": lambda m, k: m.numpy.zeros_like(k),
    "ones_like": lambda m, k: m.numpy.ones_like(k),
    "copy": lambda m, k: m.numpy.copy(k),
    "method copy": lambda m, k: k.copy(),
    "array": lambda m, k: m.numpy.array(k),
    "insert": lambda m, k: m.numpy.insert(k, 1, k[0]),
    "barrier": lambda m, k: m.lax.optimization_barrier(k),
    "donated copy": lambda m, k: m.jit(lambda q: q, donate_argnums=0)(m.numpy.copy(k)),
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", ON_KEYS)
def test_arrays_of_keys_are_filled_copied_and_updated(name):
    def words(m):
        return m.random.key_data(ON_KEYS[name](m, m.random.split(m.random.key(0), 3)))

    theirs = words(jax)
    np.testing.assert_array_equal(words(plugjax), theirs)
    np.testing.assert_array_equal(plugjax.jit(lambda: words(plugjax))(), theirs)


def test_keys_are_updated_on_every_backend(on_backend):
    keys = random.split(random.key(0), 3)
    f = plugjax.jit(lambda k, i: random.key_data(jnp.copy(k.at[i].set(k[0]))))
    expected = np.array(random.key_data(keys))
    expected[2] = expected[0]
    np.testing.assert_array_equal(f(keys, 2), expected)
