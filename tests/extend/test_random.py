"""Generators that a program defines give JAX's numbers: one source defines them for both."""

import copy
import gc
import importlib
import math
import pickle
import weakref

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import random
from plugjax.extend import random as extension, registry

COMPARES_BITS = True


@pytest.fixture(params=[jax, plugjax], ids=["jax", "plugjax"])
def framework(request):
    return loaded(request.param)


def loaded(framework):
    for name in ("extend.random", "random", "numpy", "lax"):
        importlib.import_module(f"{framework.__name__}.{name}")
    return framework


def define(framework, **changes):
    """A toy generator with keys of three words; its functions refuse anything but one key."""
    np_like = framework.numpy

    def mix(x):
        for shift in (16, 15, 13):
            x = (x ^ (x >> shift)) * np.uint32(0x45D9F3B)
        return x

    def spread(key, shape):
        assert key.shape == (3,)
        return np_like.arange(math.prod(shape), dtype=np.uint32).reshape(shape) + key[0]

    def seed(number):
        assert number.shape == ()
        return mix(number.astype(np.uint32) + np_like.arange(3, dtype=np.uint32))

    def split(key, shape):
        return mix(spread(key, shape)[..., None] ^ key)

    def random_bits(key, width, shape):
        return mix(spread(key, shape) + key[2]).astype(f"uint{width}")

    def fold_in(key, number):
        assert (key.shape, number.shape) == ((3,), ())
        return mix(key ^ number)

    functions = {"seed": seed, "split": split, "random_bits": random_bits, "fold_in": fold_in}
    return framework.extend.random.define_prng_impl(
        key_shape=(3,), **{**functions, **changes}, name="toy", tag="toy"
    )


def use(framework, generator, number):
    """Results of everything that a generator is for."""
    random, words = framework.random, framework.random.key_data
    key = random.key(number, impl=generator)
    keys = random.split(key, 4)
    many = framework.numpy.arange(4)
    return {
        "key": words(key),
        "split": words(keys),
        "split to a shape": words(random.split(key, (2, 3))),
        "fold_in": words(random.fold_in(key, 7)),
        "bits": random.bits(key, (5,)),
        "few bits": random.bits(key, (5,), np.uint8),
        "uniform": random.uniform(key, (2, 3)),
        "normal": random.normal(key, (5,)),
        "randint": random.randint(key, (5,), 0, 100),
        "permutation": random.permutation(key, 6),
        "seeds, mapped": words(framework.vmap(lambda s: random.key(s, impl=generator))(many)),
        "keys, mapped": framework.vmap(lambda k: random.uniform(k, (3,)))(keys),
        "keys, mapped twice": framework.vmap(framework.vmap(random.bits))(keys.reshape(2, 2)),
        "split, mapped": words(framework.vmap(random.split)(keys)),
        "fold_in of keys": words(framework.vmap(lambda k: random.fold_in(k, 7))(keys)),
        "fold_in of numbers": words(framework.vmap(lambda n: random.fold_in(key, n))(many)),
        "fold_in of both": words(framework.vmap(random.fold_in)(keys, many)),
        "in a loop": words(
            framework.lax.fori_loop(0, 3, lambda i, k: random.split(random.fold_in(k, i))[1], key)
        ),
        "gradient": framework.grad(lambda x: random.uniform(key, (3,), maxval=x).sum())(2.0),
    }


def same(ours, theirs, **tolerance):
    assert ours.keys() == theirs.keys()
    for name, wanted in theirs.items():
        found = ours[name]
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), name
        np.testing.assert_allclose(found, wanted, err_msg=name, **tolerance)


@pytest.fixture(scope="module")
def expected():
    return use(loaded(jax), define(jax), 5)


def test_a_defined_generator(expected):
    loaded(plugjax)
    same(use(plugjax, define(plugjax), 5), expected, rtol=3e-7)


def test_a_defined_generator_compiled(expected, backend):
    generator = define(loaded(plugjax))
    with plugjax.default_device(backend):
        ours = plugjax.jit(lambda number: use(plugjax, generator, number))(5)
    same(ours, expected, rtol=2e-6 if backend == "iree" else 3e-7)


def test_its_names(framework):
    generator = define(framework)
    key = framework.random.key(0, impl=generator)
    assert repr(key.dtype) == "key<toy>"
    assert repr(key).startswith("Array((), dtype=key<toy>) overlaying:\n[")
    assert str(generator) == "toy"
    assert framework.random.key_dtype(generator) == key.dtype
    assert framework.random.key_impl(key) == generator
    again = framework.random.wrap_key_data(np.arange(3, dtype=np.uint32), impl=generator)
    assert again.dtype == key.dtype
    with pytest.raises(ValueError, match="toy"):
        framework.random.key(0, impl="toy")
    with pytest.raises(TypeError, match=r"key.data"):
        framework.random.wrap_key_data(np.arange(2, dtype=np.uint32), impl=generator)


def test_definitions_by_the_same_functions_are_one_generator(framework):
    extension = framework.extend.random
    base = extension.threefry_prng_impl
    functions = {n: getattr(base, n) for n in ("seed", "split", "random_bits", "fold_in")}
    one, two = (extension.define_prng_impl(key_shape=(2,), **functions, tag="a") for _ in range(2))
    other = extension.define_prng_impl(key_shape=(2,), **functions, tag="b")
    assert one == two
    assert hash(one) == hash(two)
    assert one != other
    key = framework.random.key
    assert key(0, impl=one).dtype == key(0, impl=two).dtype
    assert key(0, impl=one).dtype != key(0, impl=other).dtype


@pytest.mark.parametrize("name", ["threefry", "rbg", "unsafe_rbg"])
def test_functions_of_the_known_generators(name):
    loaded(plugjax), loaded(jax)

    def results(framework):
        impl = getattr(framework.extend.random, f"{name}_prng_impl")
        key = impl.seed(np.int32(17))
        found = {
            "seed": key,
            "split": impl.split(key, (2, 3)),
            "bits": impl.random_bits(key, 16, (5,)),
            "fold_in": impl.fold_in(key, np.uint32(3)),
            "key": framework.random.key_data(framework.random.key(17, impl=impl)),
        }
        assert (impl.name, impl.tag, impl.key_shape) == NAMES[name]
        assert framework.random.key_impl(framework.random.key(0, impl=impl)) == impl.name
        return {n: np.asarray(v) for n, v in found.items()}

    same(results(plugjax), results(jax), rtol=0)


NAMES = {
    "threefry": ("threefry2x32", "fry", (2,)),
    "rbg": ("rbg", "rbg", (4,)),
    "unsafe_rbg": ("unsafe_rbg", "urbg", (4,)),
}


def test_a_generator_made_of_another(framework):
    base = framework.extend.random.threefry_prng_impl

    def through_keys(key, width, shape):
        # Typed keys within a function of a generator.
        typed = framework.random.wrap_key_data(key, impl="threefry2x32")
        return framework.random.bits(typed, shape, f"uint{width}")

    generator = framework.extend.random.define_prng_impl(
        key_shape=(2,),
        seed=framework.jit(lambda number: base.seed(number) + np.uint32(1)),
        split=base.split,
        random_bits=through_keys,
        fold_in=base.fold_in,
    )
    keys = framework.vmap(lambda s: framework.random.key(s, impl=generator))(np.arange(3))
    plain = framework.random.wrap_key_data(framework.random.key_data(keys))
    found, wanted = (
        framework.jit(framework.vmap(lambda k: framework.random.bits(k, (4,))))(ks)
        for ks in (keys, plain)
    )
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("number", [3, -1, 2**40 + 5, np.int32(7), np.arange(6).reshape(2, 3)])
def test_seeds(number):
    loaded(jax), loaded(plugjax)
    for seeded in (
        lambda extension: extension.random_seed(number, extension.threefry_prng_impl),
        lambda extension: extension.seed_with_impl(extension.threefry_prng_impl, number),
    ):
        theirs = jax.random.key_data(seeded(jax.extend.random))
        np.testing.assert_array_equal(random.key_data(seeded(extension)), theirs)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (5,), (2, 3), (0,)])
def test_threefry_2x32(shape, backend):
    loaded(jax)
    keypair = np.array([123, 456], np.uint32)
    count = np.arange(math.prod(shape), dtype=np.uint32).reshape(shape)
    with plugjax.default_device(backend):
        found = extension.threefry_2x32(keypair, count)
    np.testing.assert_array_equal(found, jax.extend.random.threefry_2x32(keypair, count))


def test_the_primitive_of_threefry(framework):
    words = [np.full(3, n, np.uint32) for n in (1, 2, 3, 4)]
    found = framework.jit(framework.extend.random.threefry2x32_p.bind)(*words)
    loaded(jax)
    wanted = jax.extend.random.threefry2x32_p.bind(*words)
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(TypeError, match="uint32"):
        framework.extend.random.threefry_2x32(words[0][:2], np.arange(3.0, dtype=np.float32))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": lambda s: jnp.zeros(3)}, r"seed of the generator 'toy' gave .*; it must give uint32\[3\]"),
        ({"seed": lambda s: jnp.zeros(2, np.uint32)}, r"seed of the generator 'toy' gave u"),
        ({"split": lambda k, shape: k}, r"split of the generator 'toy' gave .* must give uint32\[2, 3\]"),
        (
            {"random_bits": lambda k, width, shape: jnp.zeros(shape, np.int32)},
            r"random_bits of the generator 'toy' gave .* must give uint32\[4\]",
        ),
        ({"fold_in": lambda k, n: n}, r"fold_in of the generator 'toy' gave .* must give uint32\[3\]"),
    ],
)  # fmt: skip
def test_results_of_the_wrong_form(changes, message):
    def all_of_it():
        key = random.key(0, impl=define(plugjax, **changes))
        random.split(key), random.fold_in(key, 1), random.bits(key, (4,))

    with pytest.raises(TypeError, match=message):
        all_of_it()


def seed(number):
    return jnp.full((2,), number.astype(np.uint32))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_the_same_generator(copied):
    base = extension.threefry_prng_impl
    functions = {n: getattr(base, n) for n in ("split", "random_bits", "fold_in")}
    defined = extension.define_prng_impl(key_shape=(2,), seed=seed, **functions)
    for impl in (base, defined):
        assert copied(impl) is impl
        assert copied(impl.dtype) is impl.dtype


def test_a_definition_does_not_outlive_its_keys():
    dead = weakref.ref(define(plugjax))
    gc.collect()
    assert dead() is None


def test_without_the_plugin():
    with registry.use(registry.Registry()):
        assert dir(extension) == []
        with pytest.raises(AttributeError, match="no plugin in force brings generators"):
            _ = extension.threefry_prng_impl
    assert extension.threefry_prng_impl.name == "threefry2x32"
    with pytest.raises(AttributeError, match="has no attribute 'threefry'"):
        _ = extension.threefry
