"""jax_debug_nans and jax_debug_infs: what raises, against JAX; and the content of the error."""

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.core import registry
from plugjax.extend.core import Primitive
from plugjax.extend.rules import RuleSet, abstract_eval, hookimpl, impl
from plugjax.transforms.replay import replay_rule

X = np.array([1.0, -1.0, 4.0], "f")
ZERO = np.array([0.0, 1.0], "f")


def _loop(j, lax, x):
    def body(c, a):
        inner = lax.fori_loop(
            0, 3, lambda i, s: s + lax.cond(i == 1, j.numpy.log, j.numpy.cos, a), c
        )
        return inner, None

    return lax.scan(body, np.float32(0), x)


PROGRAMS = {
    "eager": lambda j, x: j.numpy.log(x),
    "operator": lambda j, x: (x * 0.0) / (x - x),
    "jit": lambda j, x: j.jit(lambda x: j.numpy.sum(j.numpy.sqrt(x)) + 1)(x),
    "vmap": lambda j, x: j.vmap(j.numpy.log)(x),
    "scan": lambda j, x: j.lax.scan(lambda c, a: (c + j.numpy.log(a), c), np.float32(0), x),
    "while": lambda j, x: j.lax.while_loop(
        lambda s: s[0] < 5, lambda s: (s[0] + 1, j.numpy.log(s[1])), (0, x[2])
    ),
    "grad": lambda j, x: j.grad(lambda x: j.numpy.sum(j.numpy.sqrt(x)) * 0.0)(x * 0.0),
    "nested": lambda j, x: j.jit(lambda x: _loop(j, j.lax, x))(x),
    "masked inside": lambda j, x: j.jit(lambda x: j.numpy.where(x > 0, j.numpy.log(x), 0))(x),
    "finite": lambda j, x: j.jit(j.numpy.exp)(x),
    "integers": lambda j, x: j.numpy.arange(3) + 1,
}


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_raises_where_jax_does(name, on_backend):
    def outcome(j, x):
        with j.debug_nans(True):
            try:
                j.block_until_ready(PROGRAMS[name](j, x))
            except FloatingPointError:
                return "raises"
        return "runs"

    assert outcome(plugjax, jnp.asarray(X)) == outcome(jax, jax.numpy.asarray(X))


def _message(function, *args, option="debug_nans"):
    with plugjax.config.override(option, True), pytest.raises(FloatingPointError) as caught:
        function(*args)
    return str(caught.value)


def test_names_primitive_line_index_and_ranges(on_backend):
    def loss(x):
        return jnp.sum(jnp.log(x) * 2)

    line = loss.__code__.co_firstlineno + 1
    message = _message(plugjax.jit(loss), jnp.asarray(X))
    assert "invalid value (nan) encountered in log: 1 of 3" in message
    assert "index (1,)" in message
    assert f"test_nonfinite.py:{line} (loss)" in message
    assert "jit(loss)" in message
    assert "operand 0: float32[3], min -1.0, max 4.0, 0 not finite" in message


def test_names_a_compiled_function_that_is_named_like_its_primitive():
    assert "within: jit(log)" in _message(plugjax.jit(lax.log), jnp.asarray(X))
    assert "jit" not in _message(lax.log, jnp.asarray(X))


def test_names_iterations_and_branches(on_backend):
    message = _message(lambda x: plugjax.jit(lambda x: _loop(plugjax, lax, x))(x), jnp.asarray(X))
    assert "scan, iteration 1 of 3 > scan, iteration 1 of 3 > cond, branch 1" in message


def test_reverse_scan_counts_from_the_end():
    message = _message(
        lambda x: lax.scan(lambda c, a: (c + jnp.log(a), c), 0.0, x, reverse=True),
        jnp.asarray([1.0, -1.0, 1.0, 1.0]),
    )
    assert "iteration 1 of 4" in message


def test_names_while_iteration():
    message = _message(lambda: PROGRAMS["while"](plugjax, jnp.asarray(X)))
    assert "while, iteration 3" in message


@pytest.mark.parametrize("wrap", [lambda f: f, plugjax.jit])
def test_names_batch_index(wrap):
    message = _message(wrap(plugjax.vmap(lambda a: jnp.log(a) * 2)), jnp.asarray(X))
    assert "vmap, batch index 1 of 3" in message


@pytest.mark.parametrize("wrap", [lambda f: f, plugjax.jit])
def test_a_gradient_names_the_line_that_was_transposed(wrap):
    def loss(x):
        kept = x > 0
        y = jnp.sqrt(x)
        return jnp.sum(jnp.where(kept, y, 0))

    message = _message(wrap(plugjax.grad(loss)), jnp.asarray(ZERO))
    assert f":{loss.__code__.co_firstlineno + 2} (loss)" in message
    assert "transpose of" in message


def test_gradient_through_a_compiled_loop_names_the_line():
    def body(c, a):
        return c + jnp.sqrt(a), None

    def loss(x):
        return lax.scan(body, 0.0, x)[0] * 0.0

    message = _message(plugjax.jit(plugjax.grad(loss)), jnp.asarray(ZERO))
    assert f":{body.__code__.co_firstlineno + 1} (body)" in message
    assert "scan, iteration 0 of 2" in message


def _with_jvp(function):
    wrapped = plugjax.custom_jvp(function)
    wrapped.defjvp(lambda primals, tangents: (wrapped(*primals), tangents[0]))
    return wrapped


@pytest.mark.parametrize("wrap", [plugjax.checkpoint, _with_jvp])
def test_looks_into_calls_with_rules_of_their_own(wrap):
    def inner(x):
        y = x - 1
        return jnp.log(y)

    message = _message(plugjax.jit(wrap(inner)), 0.0)
    assert f":{inner.__code__.co_firstlineno + 2} (inner)" in message
    assert "encountered in log" in message


def test_says_that_an_input_held_it_already():
    message = _message(plugjax.jit(lambda x: x + 1), jnp.asarray([1.0, np.nan]))
    assert "operand 0 held such values already" in message


def test_infs():
    assert "(inf) encountered in div" in _message(
        lambda: jnp.asarray(1.0) / 0.0, option="debug_infs"
    )
    with plugjax.debug_nans(True):
        assert np.isinf(jnp.asarray(1.0) / 0.0)


def test_loops_under_disable_jit_name_the_iteration():
    with plugjax.disable_jit():
        message = _message(
            lambda x: lax.scan(lambda c, a: (c + jnp.log(a), c), 0.0, x), jnp.asarray(X)
        )
    assert "scan, iteration 1 of 3" in message


def test_donated_arguments_are_kept_to_be_looked_at():
    x = jnp.asarray(X)
    assert "in log" in _message(plugjax.jit(jnp.log, donate_argnums=0), x)
    assert x.tolist() == X.tolist()


def test_nothing_is_wrapped_when_off():
    f = plugjax.jit(jnp.log)
    _message(f, jnp.asarray(X))
    assert np.isnan(f(jnp.asarray(X))[1])
    assert np.isnan(jnp.log(jnp.asarray(X))[1])
    assert np.isnan((jnp.asarray(ZERO) / 0.0)[0])


twice_p = Primitive("do_twice", multiple_results=True, structured=True)
rules = RuleSet(__name__)


@rules.define(abstract_eval, twice_p)
def _twice_avals(*avals, jaxpr):
    return list(avals)


@rules.define(impl, twice_p)
def _twice(*values, jaxpr):
    return [np.log(np.log(v)) for v in values]


@rules.define(replay_rule, twice_p)
def _twice_replay(run, args, *, jaxpr):
    for i in range(2):
        args = run(f"do_twice, pass {i}", jaxpr, *args)
    return args


class _Plugin:
    @staticmethod
    @hookimpl
    def plugjax_rules():
        return [rules]


def test_a_loop_of_a_third_party_takes_part():
    active = registry.active()
    with registry.use(registry.active().extended(_Plugin)):
        body = plugjax.make_jaxpr(lambda x: jnp.log(x))(1.0)
        with plugjax.config.override("eager", "host"):
            message = _message(lambda: twice_p.bind(jnp.asarray(0.5, "float32"), jaxpr=body))
    assert registry.active() is active
    assert "within: do_twice, pass 1" in message


SQUARE = np.ones((3, 3), np.float32)
SQUARE[2, 1] = -1
CUBE = np.ones((3, 3, 3), np.float32)
CUBE[2, 1, 0] = -1

# Every axis has the same size; the batching rule tells which one is the batch axis.
BATCHED = {
    "first": (plugjax.vmap(jnp.log), SQUARE, ["vmap, batch index 2 of 3"]),
    "second": (plugjax.vmap(jnp.log, in_axes=1), SQUARE, ["vmap, batch index 1 of 3"]),
    "two": (
        plugjax.vmap(plugjax.vmap(jnp.log), in_axes=1),
        SQUARE,
        ["vmap, batch index 1 of 3 > vmap, batch index 2 of 3"],
    ),
    "three": (
        plugjax.vmap(plugjax.vmap(plugjax.vmap(jnp.log), 1), 1),
        CUBE,
        ["vmap, batch index 1 of 3 > vmap, batch index 0 of 3 > vmap, batch index 2 of 3"],
    ),
    "of a gradient": (
        plugjax.vmap(plugjax.grad(lambda x: jnp.sum(jnp.log(x) ** 2)), in_axes=1),
        SQUARE,
        ["vmap, batch index 1 of 3"],
    ),
    "within a gradient": (
        plugjax.grad(lambda x: jnp.sum(plugjax.vmap(jnp.log, in_axes=1)(x) ** 2)),
        SQUARE,
        ["grad, vjp or linearize", "> vmap, batch index 1 of 3"],
    ),
    "of a loop": (
        plugjax.vmap(lambda x: lax.scan(lambda c, a: (c + jnp.log(a), c), x[0], x), in_axes=1),
        CUBE,
        ["scan, iteration 2 of 3 > vmap, batch index 1 of 3"],
    ),
    "within a loop": (
        lambda x: lax.scan(lambda c, a: (c, plugjax.vmap(jnp.log, in_axes=1)(a)), 0.0, x),
        CUBE,
        ["scan, iteration 2 of 3", "> vmap, batch index 0 of 3"],
    ),
    "of another operand": (
        plugjax.vmap(lambda x, y: jnp.log(y) + x, in_axes=(0, None)),
        SQUARE,
        ["vmap of 3"],
    ),
}


@pytest.mark.parametrize("wrap", [lambda f: f, plugjax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", BATCHED)
def test_the_batch_axis_is_known_where_sizes_do_not_tell(name, wrap):
    function, x, expected = BATCHED[name]
    args = (x, x) if name == "of another operand" else (x,)
    message = _message(wrap(function), *args)
    for words in expected:
        assert words in message
    assert message.count("vmap") == sum(words.count("vmap") for words in expected)


def test_a_batch_axis_that_the_rule_does_not_tell_is_said_to_be_one_of_two():
    """The rule works for one size only, so it cannot be run with another."""

    @plugjax.custom_batching.custom_vmap
    def f(x):
        return x

    @f.def_vmap
    def _(axis_size, in_batched, x):
        if axis_size != 3:
            raise ValueError(axis_size)
        return jnp.log(x), True

    message = _message(plugjax.vmap(f), SQUARE)
    assert "batch index 2 (if its axis is 0) or 1 (if its axis is 1) of 3" in message
