"""Functions and operators with cached eager programs: the second call must do what the first did, and no more."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.core.backend import get_backend
from plugjax.core.config import config
from plugjax.core.primitive import state
from plugjax.execution.eager_functions import eager_program

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
CALLS = {
    "sum": (jnp.sum, np.sum, (X,)),
    "argmax": (jnp.argmax, np.argmax, (X,)),
    "cumsum": (jnp.cumsum, np.cumsum, (X,)),
    "transpose": (jnp.transpose, np.transpose, (X,)),
    "all": (jnp.all, np.all, (X > 0,)),
    "where": (jnp.where, np.where, (X > 0, X, 2 * X)),
    "where broadcasts": (jnp.where, np.where, (X[0] > 0, X, X[:, :1] + 1)),
    "matmul": (jnp.matmul, np.matmul, (X, X.T.copy())),
    "dot of mixed dtypes": (jnp.dot, np.dot, (X, np.arange(4))),
    "add": (jnp.add, np.add, (X, X[:1])),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_cached_call_gives_what_the_first_gave(name):
    function, oracle, args = CALLS[name]
    arrays = [jnp.asarray(a) for a in args]
    first, second = function(*arrays), function(*arrays)
    assert first.aval is second.aval
    np.testing.assert_allclose(second, oracle(*args), rtol=1e-6)
    changed = [jnp.asarray(np.flip(a).copy()) for a in args]
    np.testing.assert_allclose(function(*changed), oracle(*map(np.flip, args)), rtol=1e-6)


def test_its_program_is_cached():
    key = (jnp.sum.__wrapped__, jnp.asarray(X).aval, jnp.asarray(X)._placement)
    jnp.sum(jnp.asarray(X))
    assert state.trace.programs[key] is not jnp.sum.__wrapped__


def test_one_array_twice_is_not_taken_for_two():
    x, y = jnp.float32(3), jnp.float32(4)
    for left, right, expected in [(x, x, 9), (x, y, 12), (y, y, 16), (y, x, 12)]:
        assert jnp.multiply(left, right) == expected


def test_other_arguments_take_the_general_path():
    x = jnp.asarray(X)
    assert jnp.sum(x, 0).shape == (4,)
    assert jnp.sum(x, keepdims=True).shape == (1, 1)
    assert jnp.where(x > 0, x, 0.0).dtype == np.float32
    assert jnp.add(x, 1).dtype == np.float32


def test_what_depends_on_constants_is_computed_each_time():
    @eager_program(1)
    def centred(x):
        return x - np.float32(centre)

    x = jnp.float32(5)
    for centre in (1.0, 2.0, 3.0):
        assert centred(x) == 5.0 - centre


@pytest.mark.parametrize("transform", [plugjax.jit, plugjax.grad, plugjax.vmap, plugjax.jacrev])
def test_under_transformations(transform):
    x = jnp.asarray(X[0])
    jnp.where(x > 0, jnp.sum(x), jnp.max(x))
    f = lambda v: jnp.sum(jnp.where(v > 0, v * 2, jnp.add(v, v * 3)))  # noqa: E731
    found = transform(f)(x)
    expected = {plugjax.jit: f(x), plugjax.vmap: [f(v) for v in x]}
    np.testing.assert_allclose(found, expected.get(transform, np.where(X[0] > 0, 2, 4)), rtol=1e-6)


def test_options_are_obeyed_afterwards():
    x, row = jnp.asarray(X), jnp.asarray(X[0])
    jnp.add(x, row)
    with plugjax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank_promotion"):
        jnp.add(x, row)
    big = jnp.float32(3e38)
    jnp.multiply(big, jnp.float32(1))
    with plugjax.debug_infs(True), pytest.raises(FloatingPointError):
        jnp.multiply(big, jnp.float32(10))


def test_results_stay_where_their_operands_are():
    x = plugjax.device_put(jnp.asarray(X), plugjax.devices("iree")[0])
    for _ in range(2):
        assert jnp.sum(x).device == x.device
        assert jnp.where(x > 0, x, x + 1).device == x.device


@pytest.mark.parametrize("name", ["mul", "subtract", "maximum", "matmul"])
def test_one_array_twice_has_a_cached_program(name):
    """A program recorded with one array twice holds for two different arrays."""
    f = {"mul": lambda x, y: x * y}.get(name, getattr(jnp, name, None))
    oracle = {"mul": np.multiply}.get(name, getattr(np, name, None))
    x, y = np.arange(3, dtype=np.float32) + 1, np.float32([5, 0, 2])
    a, b = jnp.asarray(x), jnp.asarray(y)
    np.testing.assert_array_equal(f(a, a), oracle(x, x))
    count = len(state.trace.programs)
    np.testing.assert_array_equal(f(a, a), oracle(x, x))
    np.testing.assert_array_equal(f(a, b), oracle(x, y))
    assert len(state.trace.programs) == count


@pytest.fixture
def compiled(monkeypatch):
    """The primitives of each program that XLA compiles, where it compiles eager operations."""
    backend = get_backend("xla")
    found = []
    compile_ = type(backend).compile

    def recorded(self, jaxpr, device, options):
        found.append([eqn.primitive.name for eqn in jaxpr.eqns])
        return compile_(self, jaxpr, device, options)

    monkeypatch.setattr(type(backend), "compile", recorded)
    plugjax.clear_caches()
    with config.override("eager", "compile"), plugjax.default_device("xla"):
        yield found
    plugjax.clear_caches()


INTS = np.arange(1, 4)
FUSED = {
    "outer": (lambda x: jnp.outer(x, x), np.outer(INTS, INTS)),
    "a sine of integers": (jnp.sin, np.sin(INTS)),
    "a quotient of integers": (lambda x: x / x, np.ones(3)),
    "a number after a conversion": (lambda x: x * 2.5, INTS * 2.5),
    "a number before": (lambda x: 3 / x, 3 / INTS),
}


@pytest.mark.parametrize("name", FUSED)
def test_what_is_compiled_is_one_program(compiled, name):
    function, expected = FUSED[name]
    x = plugjax.device_put(INTS.astype(np.int32))
    del compiled[:]
    for _ in range(2):
        np.testing.assert_allclose(function(x), expected, rtol=1e-6)
    (primitives,) = compiled
    assert len(primitives) > 1


def test_one_primitive_is_compiled_for_all_who_bind_it(compiled):
    x = plugjax.device_put(INTS.astype(np.float32))
    del compiled[:]
    for each in (x * x, jnp.multiply(x, x), lax.mul(x, x)):
        np.testing.assert_array_equal(each, INTS * INTS)
    assert compiled == [["mul"]]


def test_an_integer_that_does_not_fit_is_refused_when_it_is_compiled_too(compiled):
    x = plugjax.device_put(INTS.astype(np.int32))
    assert (x / 2).tolist() == [0.5, 1, 1.5]
    with pytest.raises(OverflowError):
        x / 2**40


def test_a_compiled_program_does_not_keep_what_depends_on_constants(compiled):
    @eager_program(1)
    def centred(x):
        return x * x - np.float32(centre)

    for centre in (1.0, 2.0):
        assert centred(plugjax.device_put(np.float32(5))) == 25 - centre
