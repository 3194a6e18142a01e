"""``debug.print``, ``debug.callback`` and ``debug.log`` against JAX: the printed text, on every backend."""

import logging

import jax
import numpy as np
import pytest

import plugjax

X = np.array([1.0, 2.0, 3.0], np.float32)

jitted = pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])


@pytest.fixture
def same(capsys):
    """Run ``program(m)(*args)`` on both; returns the lines that both printed."""

    def run(program, *args, jitted=True, ordered=True):
        found = []
        for m in (jax, plugjax):
            function = program(m)
            (m.jit(function) if jitted else function)(*args)
            m.effects_barrier()
            lines = capsys.readouterr().out.splitlines()
            found.append(lines if ordered else sorted(lines))
        assert found[1] == found[0]
        return found[1]

    return run


FORMATS = {
    "plain": lambda m, x: m.debug.print("hello"),
    "position": lambda m, x: m.debug.print("{} and {}", x, x[0]),
    "index": lambda m, x: m.debug.print("{1} before {0}", x, x[0]),
    "name": lambda m, x: m.debug.print("x = {x}", x=x),
    "repr": lambda m, x: m.debug.print("{x!r}", x=x),
    "spec": lambda m, x: m.debug.print("{:.3f} {:>12} {:e}", x[1] / 3, x[0], x[2]),
    "integer": lambda m, x: m.debug.print("{:05d} {}", x.astype("int32")[2], x > 1),
    "tree": lambda m, x: m.debug.print("{}", {"a": x, "b": (x[0], [x[1]])}),
    "static": lambda m, x: m.debug.print("{} {} {x} {}", "text", None, len, x=x[0]),
    "field": lambda m, x: m.debug.print("{0[a]} {0[b]}", {"a": x, "b": "text"}),
    "brace": lambda m, x: m.debug.print("{} {{}}", x),
    "python scalars": lambda m, x: m.debug.print("{} {} {}", 1, True, 0.5),
    "no arguments, unchecked": lambda m, x: m.debug.print("x:", x, skip_format_check=True),
    "two calls": lambda m, x: m.debug.print(ordered=True)("{ordered}", ordered=x),
    "empty": lambda m, x: m.debug.print(""),
}


@pytest.mark.spread(6)
@jitted
@pytest.mark.parametrize("case", FORMATS)
def test_formats(on_backend, same, case, jitted):
    def program(m):
        return lambda x: FORMATS[case](m, m.numpy.asarray(x))

    assert same(program, X, jitted=jitted)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [(("{} {}", 1), {}), (("hi", 1), {}), (("hi",), {"x": 1}), (("{y}",), {"x": 1}), (("{", 1), {}), ((), {"x": 1})],
    ids=str,
)  # fmt: skip
def test_mistakes_in_the_format(args, kwargs):
    errors = []
    for m in (jax, plugjax):
        with pytest.raises((ValueError, LookupError, TypeError)) as caught:
            m.debug.print(*args, **kwargs)
        errors.append(caught.type)
    assert errors[0] is errors[1]


def test_print_options_of_the_time_of_tracing(on_backend, same):
    def program(m):
        def f(x):
            with np.printoptions(precision=2):
                m.debug.print("{}", x)

        return f

    assert same(program, X / 3) == ["[0.33 0.67 1.  ]"]


def test_derivatives_print_once(on_backend, same):
    def program(m):
        def f(x):
            m.debug.print("x = {}", x)
            return m.lax.sin(x) * x

        return lambda x: (m.grad(f)(x), m.jvp(f, (x,), (x,)), m.linearize(f, x)[1](x))

    assert same(program, np.float32(2)) == ["x = 2.0"] * 3


def test_vmap_prints_every_instance(on_backend, same):
    def program(m):
        def one(x, y):
            m.debug.print("{} {}", x, y, ordered=True)
            return x

        return lambda x: m.vmap(m.vmap(one, (0, None)), (None, 0))(x, x * 10)

    assert len(same(program, X)) == 9


def test_vmap_of_grad_of_scan(on_backend, same):
    def program(m):
        def f(x):
            def step(c, a):
                m.debug.print("{} {}", c, a)
                return c * a, None

            return m.lax.scan(step, x, X)[0]

        return m.vmap(m.grad(f))

    assert len(same(program, X[:2], ordered=False)) == 6


def test_in_loops_and_branches(on_backend, same):
    def program(m):
        def show(word, x):
            m.debug.print("{} {}", word, x, ordered=True)
            return x

        def f(x):
            def cond(c):
                show("asked", c)
                return c < 5

            x = m.lax.while_loop(cond, lambda c: show("step", c) * 2, x)
            x = m.lax.cond(x > 5, lambda y: show("yes", y), lambda y: show("no", y), x)
            m.vmap(lambda y: m.lax.cond(y > 1, lambda: show("yes", y), lambda: show("no", y)))(
                X[:2]
            )
            return m.lax.fori_loop(0, 3, lambda i, c: show("round", c) + i, x)

        return f

    assert len(same(program, np.float32(1))) > 12


def test_while_under_vmap_and_linearize(on_backend, same):
    def program(m):
        def loop(x):
            def body(c):
                m.debug.print("{}", c, ordered=True)
                return c * 2

            return m.lax.while_loop(lambda c: c < 5, body, x)

        return lambda x: (m.vmap(loop)(x), m.linearize(loop, x[0])[1](x[0]))

    same(program, X[:2])


def test_unordered_prints_are_all_there(on_backend, same):
    def program(m):
        def f(x):
            for i in range(5):
                m.debug.print("{} {}", i, x + i)

        return f

    assert len(same(program, np.float32(1), ordered=False)) == 5


def test_a_program_of_nothing_else(on_backend, same):
    assert same(lambda m: lambda: m.debug.print("here {}", 7)) == ["here 7"]


def test_callback_gets_the_arguments_as_they_were_given(on_backend):
    seen = []

    def receive(a, text, *, k):
        seen.append((type(a["x"]), np.asarray(a["x"]).tolist(), text, float(k[0]), k[1]))

    def f(x):
        plugjax.debug.callback(receive, {"x": x}, "text", k=(x[0], None))
        plugjax.debug.callback(ordered=True)(receive, {"x": x * 2}, "more", k=(x[1], len))

    f(plugjax.numpy.asarray(X))
    plugjax.jit(f)(X)
    expected = [
        (plugjax.Array, [1, 2, 3], "text", 1.0, None),
        (plugjax.Array, [2, 4, 6], "more", 2.0, len),
    ]
    assert sorted(seen[:2], key=str) == sorted(seen[2:], key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("args", [(3,), (None, 3)], ids=str)
def test_mistakes_in_a_callback(args):
    for m in (jax, plugjax):
        with pytest.raises(TypeError):
            m.debug.callback(*args)


@jitted
def test_what_a_callback_raises(on_backend, jitted):
    class MineError(Exception):
        pass

    def fail(x):
        raise MineError

    f = lambda x: plugjax.debug.callback(fail, x)  # noqa: E731
    with pytest.raises(MineError):
        (plugjax.jit(f) if jitted else f)(1.0)


def test_log(on_backend, caplog):
    with caplog.at_level(logging.INFO, "plugjax.debug"):
        plugjax.jit(lambda x: plugjax.debug.log("x = {}", x))(1.5)
    (record,) = caplog.records
    assert record.getMessage() == "x = 1.5"
    assert record.pathname == __file__


def test_a_tangent_is_printed_where_it_is_computed(on_backend, same):
    def program(m):
        def f(x):
            m.debug.print("{}", x)
            return x * x

        return lambda x: m.jvp(m.grad(f), (x,), (x,))

    assert same(program, np.float32(3)) == ["3.0"]


@pytest.mark.parametrize("ordered", [False, True])
def test_jaxprs_print_as_in_jax(ordered):
    def text(m):
        program = m.make_jaxpr(lambda x: m.debug.print("x {}", x, ordered=ordered))(1.0)
        return [line for line in str(program).splitlines() if "in_tree" not in line]

    assert text(plugjax) == text(jax)


def test_effects_by_name():
    for m in (jax, plugjax):
        program = m.make_jaxpr(lambda x, m=m: m.jit(lambda y: m.debug.print("{}", y))(x))(1.0)
        (effect,) = program.effects
        assert type(effect).__name__ == m.debug.DebugEffect.__name__
