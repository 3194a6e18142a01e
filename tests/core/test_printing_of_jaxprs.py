"""Programs that appear several times, or are long, are printed once and before the others, as in JAX."""

import jax
import jax.numpy as jnp
import pytest

import plugjax
import plugjax.numpy as pnp


def called_twice(j, np_):
    @j.jit
    def inner(x):
        return np_.sin(x) + 1

    return j.make_jaxpr(lambda x: inner(x) * inner(2 * x))(1.0)


def two_of_one_name(j, np_):
    def doubled():
        @j.jit
        def inner(x):
            return np_.sin(x) * 2

        return inner

    f, g = doubled(), j.jit(lambda x: np_.cos(x))
    h = doubled()
    return j.make_jaxpr(lambda x: f(f(x)) + h(h(x)) + g(g(x)))(1.0)


def long_program(j, np_):
    @j.jit
    def inner(x):
        for _ in range(11):
            x = np_.sin(x)
        return x

    return j.make_jaxpr(inner)(1.0)


def nested(j, np_):
    @j.jit
    def inmost(x):
        return np_.sin(x)

    @j.jit
    def inner(x):
        return inmost(x) + inmost(x + 1)

    return j.make_jaxpr(lambda x: inner(inner(x)))(1.0)


def loop_in_a_loop(j, np_):
    def body(c, _):
        for _ in range(11):
            c = np_.sin(c)
        return c, None

    return j.make_jaxpr(lambda x: j.lax.scan(body, x, None, length=3)[0])(1.0)


def variables_and_names(j, np_):
    @j.jit
    def b(x):
        return np_.sin(x)

    return j.make_jaxpr(lambda x: b(b(x)))(1.0)


@pytest.mark.parametrize(
    "program",
    [called_twice, two_of_one_name, long_program, nested, loop_in_a_loop, variables_and_names],
    ids=lambda f: f.__name__,
)
def test_shared_programs_are_printed_once_as_in_jax(program):
    assert str(program(plugjax, pnp)) == str(program(jax, jnp))
