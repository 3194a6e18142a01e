"""`plugjax.random` on drawn keys, dtypes, shapes and parameters: JAX's types and errors, integers bit for bit."""

import jax
import jax.random
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import plugjax
from plugjax import random
from tests.drawn import agree, arrays, operands, outcome, same_error

PARTS = [(), (), (1,), (3,), (2, 3), (2, 1)]
SHAPES = st.sampled_from([None, None, (), (3,), (2, 3), (4, 2, 3), (0, 3), (2,), (-1,), 3])
DTYPES = [None, None, None, "float32", "float16", "bfloat16", "int32", "complex64", "bool", float, "uint8"]  # fmt: skip
PARAMETERS = ["float32", "float32", "float32", "float16", "int32", "uint8", "complex64", "bool"]
IMPLS = ["threefry2x32", "rbg", "unsafe_rbg"]

# Number of leading parameters, and whether shape and dtype are parameters.
DISTRIBUTIONS = {
    "ball": lambda r, k, p, shape, dtype: r.ball(k, 3, 2, shape if shape is not None else (), dtype),
    "bernoulli": lambda r, k, p, shape, dtype: r.bernoulli(k, p[0], shape),
    "beta": lambda r, k, p, shape, dtype: r.beta(k, p[0], p[1], shape, dtype),
    "binomial": lambda r, k, p, shape, dtype: r.binomial(k, p[0], p[1], shape, dtype),
    "bits": lambda r, k, p, shape, dtype: r.bits(k, shape if shape is not None else (), dtype),
    "categorical": lambda r, k, p, shape, dtype: r.categorical(k, p[0], shape=shape),
    "cauchy": lambda r, k, p, shape, dtype: r.cauchy(k, shape if shape is not None else (), dtype),
    "chisquare": lambda r, k, p, shape, dtype: r.chisquare(k, p[0], shape, dtype),
    "dirichlet": lambda r, k, p, shape, dtype: r.dirichlet(k, p[0], shape, dtype),
    "double_sided_maxwell": lambda r, k, p, shape, dtype: r.double_sided_maxwell(k, p[0], p[1], shape if shape is not None else (), dtype),
    "exponential": lambda r, k, p, shape, dtype: r.exponential(k, shape if shape is not None else (), dtype),
    "f": lambda r, k, p, shape, dtype: r.f(k, p[0], p[1], shape, dtype),
    "gamma": lambda r, k, p, shape, dtype: r.gamma(k, p[0], shape, dtype),
    "generalized_normal": lambda r, k, p, shape, dtype: r.generalized_normal(k, 2.0, shape if shape is not None else (), dtype),
    "geometric": lambda r, k, p, shape, dtype: r.geometric(k, p[0], shape, dtype),
    "gumbel": lambda r, k, p, shape, dtype: r.gumbel(k, shape if shape is not None else (), dtype),
    "laplace": lambda r, k, p, shape, dtype: r.laplace(k, shape if shape is not None else (), dtype),
    "loggamma": lambda r, k, p, shape, dtype: r.loggamma(k, p[0], shape, dtype),
    "logistic": lambda r, k, p, shape, dtype: r.logistic(k, shape if shape is not None else (), dtype),
    "lognormal": lambda r, k, p, shape, dtype: r.lognormal(k, p[0], shape, dtype),
    "maxwell": lambda r, k, p, shape, dtype: r.maxwell(k, shape if shape is not None else (), dtype),
    "multinomial": lambda r, k, p, shape, dtype: r.multinomial(k, p[0], p[1], shape=shape, dtype=dtype),
    "normal": lambda r, k, p, shape, dtype: r.normal(k, shape if shape is not None else (), dtype),
    "orthogonal": lambda r, k, p, shape, dtype: r.orthogonal(k, 2, shape if shape is not None else (), dtype),
    "pareto": lambda r, k, p, shape, dtype: r.pareto(k, p[0], shape, dtype),
    "poisson": lambda r, k, p, shape, dtype: r.poisson(k, p[0], shape, dtype),
    "rademacher": lambda r, k, p, shape, dtype: r.rademacher(k, shape if shape is not None else (), dtype),
    "randint": lambda r, k, p, shape, dtype: r.randint(k, shape if shape is not None else (), p[0], p[1], dtype),
    "rayleigh": lambda r, k, p, shape, dtype: r.rayleigh(k, p[0], shape, dtype),
    "t": lambda r, k, p, shape, dtype: r.t(k, p[0], shape if shape is not None else (), dtype),
    "triangular": lambda r, k, p, shape, dtype: r.triangular(k, p[0], p[1], 4.0, shape, dtype),
    "truncated_normal": lambda r, k, p, shape, dtype: r.truncated_normal(k, p[0], p[1], shape, dtype),
    "uniform": lambda r, k, p, shape, dtype: r.uniform(k, shape if shape is not None else (), dtype, p[0], p[1]),
    "wald": lambda r, k, p, shape, dtype: r.wald(k, p[0], shape, dtype),
    "weibull_min": lambda r, k, p, shape, dtype: r.weibull_min(k, p[0], p[1], shape if shape is not None else (), dtype),
}  # fmt: skip


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
@given(data=st.data())
def test_types(name, data):
    shape, dtype = data.draw(SHAPES), data.draw(st.sampled_from(DTYPES))
    p = [data.draw(operands(PARAMETERS, st.sampled_from(PARTS), 0.1, 2)) for _ in range(2)]
    # Of two errors in one shape, either may be raised.
    assume(shape != (-1,) or not any(x.ndim for x in p))
    # JAX's `f` divides arrays of different ranks, and its `multinomial` takes a tuple only.
    assume(name != "f" or all(x.ndim in (0, np.size(shape)) for x in p))
    # Bounds of `uniform` with more axes than the shape pass if they have one element.
    assume(name != "uniform" or all(x.ndim <= np.size(shape or ()) for x in p))
    assume(name != "multinomial" or isinstance(shape, tuple | None))
    agree(lambda _, j, *p: DISTRIBUTIONS[name](j.random, j.random.key(0), p, shape, dtype), None, *p)  # fmt: skip


@given(data=st.data())
def test_types_of_multivariate_normal(data):
    n = data.draw(st.sampled_from([1, 2, 3]))
    mean = data.draw(operands(PARAMETERS, st.sampled_from([(n,), (n,), (2, n), (), (3,)])))
    cov = data.draw(operands(PARAMETERS, st.sampled_from([(n, n), (n, n), (2, n, n), (n,), (3, 3)])))  # fmt: skip
    shape, dtype = data.draw(SHAPES), data.draw(st.sampled_from(DTYPES))
    method = data.draw(st.sampled_from(["cholesky", "svd", "eigh", "nonsense"]))
    agree(
        lambda _, j, mean, cov: j.random.multivariate_normal(
            j.random.key(0), mean, cov, shape, dtype, method
        ),
        None,
        mean,
        cov,
    )


@given(data=st.data())
def test_types_of_choices(data):
    a = data.draw(operands(["int32", "float32", "bool", "complex64"], st.sampled_from([(), (4,), (3, 4), (0,)]), 1, 5))  # fmt: skip
    axis = data.draw(st.integers(-3, 2))
    shape = data.draw(st.sampled_from([(), (2,), (2, 3), (5,), (0,)]))
    replace, independent = data.draw(st.booleans()), data.draw(st.booleans())
    size = data.draw(st.sampled_from([None, None, (4,), (3,), (3, 4)]))
    p = None if size is None else np.full(size, 0.25, np.float32)
    # Without axes, the number of choices must be known.
    known = a.ndim > 0
    of = lambda x: x if known else int(a.real)  # noqa: E731
    agree(lambda _, j, x: j.random.choice(j.random.key(0), of(x), shape, replace, p, axis), None, a)  # fmt: skip
    agree(lambda _, j, x: j.random.permutation(j.random.key(0), of(x), axis, independent=independent), None, a)  # fmt: skip


# Valid and invalid keys, and functions of keys.
USES = {
    "split": lambda r, k, n: r.split(k, n),
    "split to a shape": lambda r, k, n: r.split(k, (2, n)),
    "fold_in": lambda r, k, n: r.fold_in(k, n),
    "bits": lambda r, k, n: r.bits(k, (2,)),
    "key_data": lambda r, k, n: r.key_data(k),
    "wrap_key_data": lambda r, k, n: r.key_data(r.wrap_key_data(k)),
    "clone": lambda r, k, n: r.clone(k),
}


@pytest.mark.parametrize("name", USES)
@given(data=st.data())
def test_keys(name, data):
    made = data.draw(st.sampled_from(["raw", "raw", *IMPLS]))
    n = data.draw(st.sampled_from([0, 1, 3, 3, -1, 2.5]))
    words = data.draw(
        arrays(["uint32"] * 4 + ["int32", "float32"], st.sampled_from([(2,), (2,), (4,), (3,), (), (1, 2)]), 0, 9)
    )  # fmt: skip

    def key(r, words):
        return words if made == "raw" else r.wrap_key_data(words, impl=made)

    def data_of(r, x):
        return r.key_data(x) if "key<" in str(x.dtype) else x

    # JAX returns raw keys unchanged, valid or not.
    assume(name != "clone" or made != "raw" or (words.dtype == "uint32" and words.shape[-1:] == (2,)))  # fmt: skip
    agree(
        lambda _, j, words: data_of(j.random, USES[name](j.random, key(j.random, words), n)),
        None,
        words,
    )


@given(data=st.data())
def test_making_keys(data):
    seed = data.draw(st.sampled_from([0, 7, -3, 2**40, True, np.int8(3), np.float32(1), np.arange(2), "1", None, 2**70]))  # fmt: skip
    impl = data.draw(st.sampled_from([*IMPLS, None, "nonsense", 3]))
    for make in ("key", "PRNGKey"):
        ours = outcome(lambda make=make: getattr(random, make)(seed, impl=impl))
        theirs = outcome(lambda make=make: getattr(jax.random, make)(seed, impl=impl))
        if isinstance(theirs, Exception):
            assert same_error(ours, theirs), (ours, theirs)
            continue
        assert not isinstance(ours, Exception), (ours, theirs)
        assert (ours.shape, str(ours.dtype)) == (theirs.shape, str(theirs.dtype))
        if make == "PRNGKey":
            np.testing.assert_array_equal(ours, theirs)
        else:
            np.testing.assert_array_equal(random.key_data(ours), jax.random.key_data(theirs))
            assert str(random.key_impl(ours)) == str(jax.random.key_impl(theirs))


# Numbers for programs that are compiled once ------------------------------------------------------

WHOLE = ["int8", "int16", "int32", "uint8", "uint16", "uint32"]


def words(library, impl, seed, low, high, p, items):
    """Functions of a generator, and numbers made from its bits by integer arithmetic."""
    r = library.random
    key = r.fold_in(r.key(seed, impl=impl), low)
    found = {f"bits {t}": r.bits(key, (3, 5), t) for t in ("uint8", "uint16", "uint32")}
    found["split"] = r.key_data(r.split(key, (2, 3)))
    found["fold_in"] = r.key_data(r.fold_in(key, high))
    found["randint"] = r.randint(key, (4, 3), items[:3], high)
    found["bits of many keys"] = library.vmap(lambda k: r.bits(k, (2,)))(r.split(key, 3))
    found["fold_in of many"] = r.key_data(library.vmap(lambda i: r.fold_in(key, i))(items))
    return found


def choices(library, impl, seed, low, high, p, items):
    """Integers of all dtypes, and choices."""
    r = library.random
    key = r.key(seed, impl=impl)
    found = {f"randint {t}": r.randint(key, (7,), low, high, t) for t in WHOLE}
    found["permutation"] = r.permutation(key, 9)
    found["permutation of rows"] = r.permutation(key, items.reshape(4, 3))
    found["permutation, independent"] = r.permutation(key, items.reshape(4, 3), 1, independent=True)
    found["choice"] = r.choice(key, items, (2, 3))
    found["choice of columns"] = r.choice(key, items.reshape(4, 3), (5,), axis=1)
    found["choice without replacement"] = r.choice(key, items, (5,), replace=False)
    found["bernoulli"] = r.bernoulli(key, p, (3, 4))
    found["rademacher"] = r.rademacher(key, (6,))
    return found


def expected(make, impl):
    """JAX's program, compiled on first use."""
    if (make, impl) not in _PROGRAMS:
        _PROGRAMS[make, impl] = jax.jit(lambda *xs: make(jax, impl, *xs))
    return _PROGRAMS[make, impl]


_PROGRAMS = {}
EDGES = st.one_of(
    st.sampled_from([0, 1, -1, 127, -128, 255, 65535, -32768, 2**31 - 1, -(2**31)]),
    st.integers(-(2**31), 2**31 - 1),
)


@pytest.mark.spread(3)
@pytest.mark.parametrize(
    ("make", "impl"), [*((words, impl) for impl in IMPLS), (choices, "threefry2x32")]
)
@given(data=st.data())
def test_whole_numbers(make, impl, data):
    seed, low, high = (np.int32(data.draw(EDGES)) for _ in range(3))
    p = data.draw(arrays(["float32"], st.just((4,)), 0, 1))
    items = data.draw(arrays(["int32"], st.just((12,)), 0, 99))
    ours = make(plugjax, impl, seed, low, high, p, items)
    for name, value in expected(make, impl)(seed, low, high, p, items).items():
        np.testing.assert_array_equal(ours[name], value, err_msg=name)
        assert (ours[name].shape, str(ours[name].dtype)) == (value.shape, str(value.dtype)), name


@pytest.mark.spread(3)
def test_one_stream_on_every_backend(backend):
    def stream(seed):
        keys = [random.fold_in(random.key(seed, impl=impl), 7) for impl in IMPLS]
        return [(random.bits(k, (5,)), random.key_data(random.split(k))) for k in keys]

    with plugjax.default_device(backend):
        compiled = plugjax.jit(stream)(np.int32(-5))
    for found, wanted in zip(compiled, stream(np.int32(-5)), strict=True):
        np.testing.assert_array_equal(found[0], wanted[0])
        np.testing.assert_array_equal(found[1], wanted[1])
