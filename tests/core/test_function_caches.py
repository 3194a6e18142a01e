"""What was traced for a function is found again by the function: as in JAX, which counts the same."""

import gc
import weakref

import jax
import jax.numpy
import pytest

import plugjax
import plugjax.numpy

LIBRARIES = (jax, plugjax)


def counted(make):
    """How often each library traces what a program traces, over two runs of it."""
    counts = []
    for library in LIBRARIES:
        calls = []

        def count(*xs, calls=calls):
            calls.append(1)
            return xs[0] + 1 if len(xs) == 1 else xs[-1] + xs[0]

        def body(carry, x, calls=calls):
            calls.append(1)
            return carry + x, carry

        run = make(library, count, body)
        run(), run()
        counts.append(len(calls))
    return counts


PROGRAMS = {
    "jit": lambda m, f, _: lambda: m.jit(f)(1.0),
    "make_jaxpr": lambda m, f, _: lambda: m.make_jaxpr(f)(1.0),
    "jit with options": lambda m, f, _: lambda: m.jit(f, donate_argnums=0)(m.numpy.ones(3)),
    "jit under vmap": lambda m, f, _: lambda: m.vmap(m.jit(f))(m.numpy.ones(2)),
    "jit under grad": lambda m, f, _: lambda: m.grad(m.jit(f))(1.0),
    "checkpoint": lambda m, f, _: lambda: m.grad(m.checkpoint(f))(1.0),
    "scan": lambda m, _, body: lambda: m.lax.scan(body, 0.0, m.numpy.arange(3.0)),
    "while_loop": lambda m, f, _: lambda: m.lax.while_loop(lambda x: x < 3, f, 0),
    "fori_loop": lambda m, f, _: lambda: m.lax.fori_loop(0, 3, f, 0),
    "fori_loop to a traced bound": lambda m, f, _: (
        lambda: m.jit(lambda n: m.lax.fori_loop(0, n, f, 0))(3)
    ),
    "cond": lambda m, f, _: lambda: m.lax.cond(True, f, f, 1),
    "jit of a new function": lambda m, f, _: lambda: m.jit(lambda x: f(x))(1.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_traces_as_often_as_jax(name):
    theirs, ours = counted(PROGRAMS[name])
    assert ours == theirs


def test_other_options_other_axes_and_other_configuration_trace_again():
    calls = []

    def f(x):
        calls.append(1)
        return x + 1

    plugjax.jit(f)(1.0)
    plugjax.jit(f, keep_unused=True)(1.0)
    assert len(calls) == 2
    plugjax.vmap(plugjax.jit(f), axis_name="i")(plugjax.numpy.ones(2))
    assert len(calls) == 3
    with plugjax.enable_x64(True):
        plugjax.jit(f)(1.0)
    assert len(calls) == 4
    plugjax.clear_caches()
    plugjax.jit(f)(1.0)
    assert len(calls) == 5


def test_a_body_that_closes_over_a_tracer_is_traced_in_each_call():
    seen = []

    def outer(w):
        def body(x):
            seen.append(1)
            return x * w

        first = plugjax.checkpoint(body)(2.0)
        return first + plugjax.checkpoint(body)(2.0)

    assert plugjax.grad(outer)(3.0) == 4.0
    assert len(seen) == 2


@pytest.mark.spread(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_does_not_live_longer_for_its_cache(name):
    def f(*xs):
        return xs[0] + 1 if len(xs) == 1 else xs[-1] + xs[0]

    def body(carry, x):
        return carry + x, carry

    PROGRAMS[name](plugjax, f, body)()
    alive = [weakref.ref(f), weakref.ref(body)]
    del f, body
    gc.collect()
    assert [refer() for refer in alive] == [None, None]


def test_functions_without_a_hash_are_traced_each_time():
    class Scaled:
        __hash__ = None
        calls = 0

        def __call__(self, x):
            self.calls += 1
            return 2 * x

    f = Scaled()
    assert plugjax.lax.fori_loop(0, 2, lambda i, x: f(x), 1) == 4
    assert plugjax.lax.while_loop(lambda x: x < 5, f, 1) == 8
    assert plugjax.lax.while_loop(lambda x: x < 5, f, 1) == 8
    assert f.calls == 3
