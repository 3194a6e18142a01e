"""The generators besides Threefry of two words, and what the configuration says of keys, as JAX has them."""

import warnings

import jax
import numpy as np
import pytest

import plugjax

# Bits are compared: see the root's conftest.
COMPARES_BITS = True

GENERATORS = ["philox2x32", "philox4x32", "threefry4x32"]
DRAWS = {
    "split": lambda m, k: m.random.key_data(m.random.split(k, (3, 2))),
    "fold_in": lambda m, k: m.random.key_data(m.random.fold_in(k, 17)),
    "bytes": lambda m, k: m.random.bits(k, (7,), "uint8"),
    "bits": lambda m, k: m.random.bits(k, (3, 4)),
    "bits of several keys": lambda m, k: m.vmap(lambda k: m.random.bits(k, (5,)))(
        m.random.split(k, 3)
    ),
    "uniform": lambda m, k: m.random.uniform(k, (3,)),
    "integers": lambda m, k: m.random.randint(k, (4,), 0, 1000),
    "permutation": lambda m, k: m.random.permutation(k, 9),
}


@pytest.mark.spread(3)
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
@pytest.mark.parametrize("generator", GENERATORS)
def test_numbers_are_those_of_jax(generator, draw):
    ours, theirs = (m.random.key(2**40 + 7, impl=generator) for m in (plugjax, jax))
    np.testing.assert_array_equal(draw(plugjax, ours), draw(jax, theirs))


@pytest.mark.parametrize("generator", GENERATORS)
def test_keys_are_those_of_jax(generator):
    for seed in (0, -5):
        assert repr(plugjax.random.key(seed, impl=generator)) == repr(
            jax.random.key(seed, impl=generator)
        )
    with plugjax.enable_x64(True), jax.enable_x64(True):
        ours, theirs = (
            m.random.bits(m.random.key(2**40 + 7, impl=generator), (5,), "uint64")
            for m in (plugjax, jax)
        )
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("machine", ["numpy", "xla", "iree"])
def test_compiled_for_each_backend(machine):
    draw = lambda k: plugjax.random.bits(k, (3, 4))  # noqa: E731
    ours = plugjax.jit(draw, device=machine)(plugjax.random.key(3, impl="philox4x32"))
    theirs = jax.random.bits(jax.random.key(3, impl="philox4x32"), (3, 4))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("generator", GENERATORS)
def test_default_generator(generator):
    with plugjax.default_prng_impl(generator), jax.default_prng_impl(generator):
        ours, theirs = (m.random.split(m.random.PRNGKey(4)) for m in (plugjax, jax))
    np.testing.assert_array_equal(ours, theirs)


def test_default_generator_must_be_known():
    for m in (plugjax, jax):
        with pytest.raises(ValueError, match="nope"), m.default_prng_impl("nope"):
            pass


def test_raw_keys_are_judged():
    for m in (plugjax, jax):
        raw = m.random.PRNGKey(0)
        with (
            m.legacy_prng_key("error"),
            pytest.raises(ValueError, match="Legacy uint32 key array passed as key"),
        ):
            m.random.split(raw)
        with (
            m.legacy_prng_key("warn"),
            pytest.warns(UserWarning, match="Legacy uint32 key array passed as key"),
        ):
            m.random.normal(raw)
        with m.legacy_prng_key("error"):
            m.random.normal(m.random.key(0))


def test_custom_generators_make_typed_keys():
    for m in (plugjax, jax):
        with m.enable_custom_prng(True):
            assert repr(m.random.PRNGKey(3)) == repr(jax.random.key(3))
            with pytest.warns(FutureWarning, match="Raw arrays as random keys"):
                assert str(m.random.split(np.uint32([0, 3])).dtype) == "key<fry>"
        with warnings.catch_warnings(action="error"):
            m.random.split(np.uint32([0, 3]))


def test_seeds_with_an_offset():
    def seeded(m):
        old = m.config.jax_random_seed_offset
        m.config.update("jax_random_seed_offset", 5)
        try:
            return [str(m.random.key(s)) for s in (0, np.uint32(7))]
        finally:
            m.config.update("jax_random_seed_offset", old)

    assert seeded(plugjax) == seeded(jax)
