"""Callbacks against JAX: values, order of calls, and errors, on every backend."""

import functools
import threading

import jax
import jax.experimental
import numpy as np
import pytest

import plugjax
import plugjax.export.iree
from plugjax.core.errors import JaxRuntimeError, LoweringError
from plugjax.experimental import io_callback

F32 = np.float32
X = np.array([1.0, 2.0, 3.0], F32)


class Ours:
    """The functions under test; ``Theirs`` has JAX's under the same names."""

    lib = plugjax
    lax = plugjax.lax
    io_callback = staticmethod(io_callback)


class Theirs:
    lib = jax
    lax = jax.lax
    io_callback = staticmethod(jax.experimental.io_callback)


def both(program, *args, jitted=True, ordered=True):
    """Run ``program(m, log)(*args)`` on both; compare results and logs, and return the log."""
    found = []
    for m in (Theirs, Ours):
        log = []
        function = program(m, log)
        result = (m.lib.jit(function) if jitted else function)(*args)
        result = [np.asarray(y) for y in m.lib.tree.leaves(result)]
        m.lib.effects_barrier()
        found.append((result, log if ordered else sorted(log)))
    (expected, their_log), (result, our_log) = found
    assert our_log == their_log
    for y, z in zip(result, expected, strict=True):
        assert (y.shape, y.dtype) == (z.shape, z.dtype)
        np.testing.assert_allclose(y, z, rtol=1e-6)
    return our_log


def struct(m, shape=(), dtype=F32):
    return m.lib.ShapeDtypeStruct(shape, dtype)


jitted = pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])


# pure_callback ------------------------------------------------------------------------------------


@jitted
def test_pytrees_of_arguments_and_results(on_backend, jitted):
    def program(m, log):
        def host(a, *, b):
            return {"sum": a["x"] + b[0], "parts": (np.asarray(b[1]) * 2, a["x"])}

        shapes = {"sum": struct(m, (3,)), "parts": (struct(m, (), np.int32), struct(m, (3,)))}
        return lambda x, n: m.lib.pure_callback(host, shapes, {"x": x}, b=(x, n))

    both(program, X, np.int32(4), jitted=jitted)


@jitted
def test_the_function_gets_arrays(on_backend, jitted):
    kinds = []

    def host(x, y):
        kinds.append((type(x), type(y), x.dtype, y.shape))
        return x * y.sum()

    f = lambda x: plugjax.pure_callback(host, struct(Ours), x[0], x)  # noqa: E731
    np.testing.assert_allclose((plugjax.jit(f) if jitted else f)(X), 6.0)
    assert kinds == [(plugjax.Array, plugjax.Array, F32, (3,))]


@pytest.mark.spread(8)
@pytest.mark.parametrize(
    "method",
    ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"],
)
@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)], ids=str)
def test_vmap_methods(on_backend, method, axes):
    def program(m, log):
        def host(x, y):
            log.append((np.shape(x), np.shape(y)))
            return np.asarray(x) + np.asarray(y)

        def one(x, y):
            return m.lib.pure_callback(host, struct(m), x, y, vmap_method=method)

        return m.lib.vmap(one, axes)

    args = [X if axis == 0 else F32(10) for axis in axes]
    if method == "legacy_vectorized" or axes == (0, None):
        both(program, *args)
    else:
        both(program, *args, jitted=False)


def test_nested_vmap(on_backend):
    def program(m, log):
        def one(x, y):
            host = lambda a, b: np.asarray(a) * np.asarray(b)  # noqa: E731
            return m.lib.pure_callback(host, struct(m), x, y, vmap_method="broadcast_all")

        return m.lib.vmap(m.lib.vmap(one, (None, 0)), (0, None))

    both(program, X, X)


@pytest.mark.parametrize("method", [None, "no such method"])
def test_vmap_refused(method):
    for m in (Theirs, Ours):
        call = lambda x, m=m: m.lib.pure_callback(np.sin, struct(m), x, vmap_method=method)  # noqa: E731
        with pytest.raises(
            NotImplementedError if method is None else ValueError, match="vmap_method"
        ):
            m.lib.vmap(call)(X)


@pytest.mark.parametrize("name", ["pure_callback", "io_callback"])
def test_no_derivative(name):
    for m in (Theirs, Ours):
        call = m.lib.pure_callback if name == "pure_callback" else m.io_callback
        with pytest.raises(ValueError, match="do not support JVP"):
            m.lib.grad(lambda x, m=m, call=call: call(np.sin, struct(m), x))(1.0)


def test_an_unused_pure_callback_vanishes_and_equal_ones_are_one(on_backend):
    calls = []

    def host(x):
        calls.append(1)
        return np.asarray(x)

    def f(x):
        call = functools.partial(plugjax.pure_callback, host, struct(Ours, (3,)))
        call(x * 2)
        return call(x) + call(x)

    np.testing.assert_array_equal(plugjax.jit(f)(X), 2 * X)
    assert len(calls) == 1


def test_in_a_derivative_that_does_not_go_through_it(on_backend):
    def program(m, log):
        def f(x):
            scale = m.lib.pure_callback(
                lambda y: np.asarray(y) * 3, struct(m), m.lax.stop_gradient(x)
            )
            return x * scale

        return m.lib.grad(f)

    both(program, F32(2))


def test_in_loops_and_branches(on_backend):
    def program(m, log):
        def host(x):
            return np.asarray(x) + F32(1)

        def f(x):
            call = lambda y: m.lib.pure_callback(host, struct(m), y)  # noqa: E731
            x, ys = m.lax.scan(lambda c, a: (call(c) * a, call(a)), x, X)
            x = m.lax.while_loop(lambda c: c < 100, lambda c: call(c * 2), x)
            return m.lax.cond(x > 0, call, lambda y: y, x), ys

        return f

    both(program, F32(1))


def test_results_that_python_can_write_to_are_copied(on_backend):
    memory = np.zeros(3, F32)

    def host(x):
        memory[:] += np.asarray(x)
        return memory

    call = lambda x: io_callback(host, struct(Ours, (3,)), x)  # noqa: E731
    first = call(X)
    second = plugjax.jit(call)(X)
    np.testing.assert_array_equal(first, X)
    np.testing.assert_array_equal(second, 2 * X)


def test_arguments_may_be_kept(on_backend):
    kept = []

    @plugjax.jit
    def f(x):
        def step(c, a):
            io_callback(lambda y: kept.append(y), None, c, ordered=True)
            return c + a, None

        return plugjax.lax.scan(step, x, X)[0]

    f(np.zeros(3, F32))
    np.testing.assert_array_equal(np.stack(kept), [[0] * 3, [1] * 3, [3] * 3])


def test_jit_inside_a_callback(on_backend):
    inner = plugjax.jit(lambda x: plugjax.numpy.sin(x) * 2)
    f = plugjax.jit(lambda x: plugjax.pure_callback(inner, struct(Ours, (3,)), x))
    np.testing.assert_allclose(f(X), np.sin(X) * 2, rtol=1e-6)


def test_sixty_four_bits(on_backend):
    with plugjax.enable_x64():
        f = lambda x: plugjax.pure_callback(lambda y: y * 2, struct(Ours, (), np.float64), x)  # noqa: E731
        y = plugjax.jit(f)(np.float64(1) / 3)
        assert y.dtype == np.float64
        assert float(y) == 2 / 3


# Results that differ from their declaration
# -----------------------------------------------------------


WRONG = {
    "shape": (lambda x: np.zeros((7,), F32), "float32[7]"),
    "dtype": (lambda x: np.zeros((3,), np.int32), "int32[3]"),
    "object": (lambda x: object(), "object"),
    "too many": (lambda x: (x, x), "gave 2 arrays"),
    "none": (lambda x: None, "gave 0 arrays"),
    "complex": (lambda x: np.zeros((3,), np.complex64), "complex64[3]"),
}


@pytest.mark.spread(6)
@jitted
@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("io", [False, True], ids=["pure", "io"])
def test_results_are_checked(on_backend, case, io, jitted):
    host, came = WRONG[case]
    host.__qualname__ = "measure"

    def run(m):
        call = m.io_callback if io else m.lib.pure_callback
        f = lambda x: call(host, struct(m, (3,)), x)  # noqa: E731
        np.asarray((m.lib.jit(f) if jitted else f)(X))

    with pytest.raises(jax.errors.JaxRuntimeError):
        run(Theirs)
    with pytest.raises(JaxRuntimeError) as caught:
        run(Ours)
    assert "callback 'measure'" in str(caught.value)
    assert came in str(caught.value)
    assert "float32[3]" in str(caught.value) or "declares 1;" in str(caught.value)


def test_the_path_of_a_wrong_result_is_said(on_backend):
    shapes = {"a": struct(Ours), "b": [struct(Ours), struct(Ours, (2,))]}
    host = lambda x: {"a": x, "b": [x, x]}  # noqa: E731
    with pytest.raises(JaxRuntimeError, match=r"output\['b'\]\[1\]"):
        plugjax.pure_callback(host, shapes, F32(1))


@pytest.mark.parametrize("value", [1.5, [1.5], np.float64(1.5), (np.array(1.5, F32),)], ids=repr)
def test_results_are_converted_as_in_jax(value):
    both(lambda m, log: lambda x: m.lib.pure_callback(lambda y: value, struct(m), x), F32(1))


def test_declarations_are_checked_first():
    for m in (Theirs, Ours):
        with pytest.raises(ValueError, match="64-bit"):
            m.lib.pure_callback(np.sin, struct(m, (), np.float64), 1.0)
        with pytest.raises(AttributeError):
            m.lib.pure_callback(np.sin, 3.0, 1.0)
        with pytest.raises(TypeError, match="JAX value"):
            m.lib.pure_callback(np.sin, struct(m), "text")


@jitted
def test_an_exception_arrives_as_it_is(on_backend, jitted):
    class MineError(Exception):
        pass

    def host(x):
        raise MineError("from the callback")

    def f(x):
        return plugjax.lax.cond(x > 0, lambda y: io_callback(host, struct(Ours), y), lambda y: y, x)

    with pytest.raises(MineError, match="from the callback"):
        np.asarray((plugjax.jit(f) if jitted else f)(1.0))


def test_numpy_warns_in_a_callback_as_usual(on_backend):
    host = lambda x: np.log(-np.asarray(x))  # noqa: E731
    with pytest.warns(RuntimeWarning, match="invalid value"):
        np.asarray(plugjax.jit(lambda x: plugjax.pure_callback(host, struct(Ours), x))(1.0))


# io_callback --------------------------------------------------------------------------------------


@jitted
def test_io_happens_though_nobody_looks(on_backend, jitted):
    def program(m, log):
        def f(x):
            m.io_callback(lambda y: (log.append(float(y)), F32(0))[1], struct(m), x)
            return x * 2

        return f

    assert both(program, F32(3), jitted=jitted) == [3.0]


def test_equal_io_is_not_merged(on_backend):
    counter = iter(range(100))

    def f(x):
        def tick(_):
            return np.int32(next(counter))

        call = functools.partial(io_callback, tick, struct(Ours, (), np.int32), x)
        return call(), call(), call()

    assert sorted(map(int, plugjax.jit(f)(1.0))) == [0, 1, 2]


@pytest.mark.parametrize("count", [40])
def test_order_without_data_dependence(on_backend, count):
    def program(m, log):
        def f(x):
            for i in range(count):
                # Later calls are quicker to compute.
                y = x
                for _ in range((count - i) // 4):
                    y = m.lax.sin(y) @ x
                host = lambda y, i=i: log.append(i)  # noqa: E731
                m.io_callback(host, None, y, ordered=True)

        return f

    assert both(program, np.eye(16, dtype=F32)) == list(range(count))


def test_order_with_debug_callbacks_and_across_calls(on_backend):
    log = []

    @plugjax.jit
    def f(x):
        io_callback(lambda: log.append("io"), None, ordered=True)
        plugjax.debug.callback(lambda y: log.append("debug"), x, ordered=True)
        io_callback(lambda: log.append("io again"), None, ordered=True)

    for _ in range(5):
        f(1.0)
    assert log == ["io", "debug", "io again"] * 5


def note(m, log, label, ordered=True):
    def host(x):
        log.append(f"{label} {float(x):.4g}")

    return lambda x: m.io_callback(host, None, x, ordered=ordered)


def test_order_in_scan(on_backend):
    def program(m, log):
        first, second, after = (note(m, log, word) for word in ("first", "second", "after"))

        def step(c, a):
            first(c)
            second(a)
            return c + a, c * a

        def f(x):
            result = m.lax.scan(step, x, X)
            after(x)
            return result

        return f

    assert len(both(program, F32(1))) == 7


@pytest.mark.parametrize("options", [{"reverse": True}, {"unroll": 2}, {"unroll": 3}], ids=str)
def test_order_in_scan_forms(on_backend, options):
    def program(m, log):
        show = note(m, log, "step")

        def step(c, a):
            show(a)
            show(c)
            return c + a, None

        return lambda x: m.lax.scan(step, x, X, **options)

    both(program, F32(1))


def test_order_in_while(on_backend):
    def program(m, log):
        asked, done, after = (note(m, log, word) for word in ("asked", "done", "after"))

        def cond(c):
            asked(c)
            return c < 10

        def body(c):
            done(c)
            done(c + 1)
            return c * 2

        def f(x, y):
            after(y)
            x = m.lax.while_loop(lambda c: c < 4, body, x)
            after(y)
            x = m.lax.while_loop(cond, body, x)
            after(y)
            return x

        return f

    assert len(both(program, F32(1), F32(-1))) > 10


def test_order_in_branches_and_calls(on_backend):
    def program(m, log):
        left, right, inner = (note(m, log, word) for word in ("left", "right", "inner"))

        @m.lib.jit
        def call(x):
            inner(x)
            y = x
            for _ in range(12):  # Too long to be inlined.
                y = m.lax.sin(y)
            inner(y)
            return y

        def f(x):
            call(x)

            def yes(y):
                left(y)
                return call(y)

            def no(y):
                right(y)
                return y

            x = m.lax.cond(x > 0, yes, no, x)
            inner(x)
            return m.lax.switch(2, [no, yes, lambda y: y * 3], x), m.lax.fori_loop(
                0, 3, lambda i, c: yes(c), x
            )

        return f

    for x in (1.0, -1.0):
        both(program, F32(x))


def test_unordered_io_in_a_loop_happens_every_time(on_backend):
    def program(m, log):
        show = note(m, log, "step", ordered=False)

        def step(c, a):
            show(a)
            return c, None

        return lambda x: m.lax.scan(step, x, X)[0]

    assert len(both(program, F32(1), ordered=False)) == 3


def test_vmap_of_io(on_backend):
    def program(m, log):
        def host(x, y):
            log.append((float(x), float(y)))
            return np.asarray(x) + np.asarray(y)

        return m.lib.vmap(lambda x, y: m.io_callback(host, struct(m), x, y), (0, None))

    assert len(both(program, X, F32(5), ordered=False)) == 3


def _counted(m, call):
    """A loop whose condition is the same for all instances."""

    def body(state):
        return state[0] + 1, call(state[1], ordered=True)

    return lambda x: m.lax.while_loop(lambda state: state[0] < 2, body, (0, x))[1]


def _branching(m, pred, call):
    return lambda x: m.lax.cond(pred(x), call, lambda y: y, x)


# As in JAX; where it raises a bare Exception, the types here are subclasses.
REFUSED = {
    "ordered": (lambda m, call: lambda x: call(x, ordered=True), ValueError),
    "branch": (lambda m, call: _branching(m, lambda x: x > 1, call), NotImplementedError),
    "branch, ordered": (
        lambda m, call: _branching(m, lambda x: x > 1, lambda y: call(y, ordered=True)),
        NotImplementedError,
    ),
    "branch of all": (lambda m, call: _branching(m, lambda x: True, call), NotImplementedError),
    "while": (lambda m, call: lambda x: m.lax.while_loop(lambda c: c < 3, call, x), Exception),
    "while, ordered": (_counted, Exception),
}


@pytest.mark.parametrize("case", REFUSED)
def test_vmap_of_io_is_refused(case):
    make, error = REFUSED[case]
    for m in (Theirs, Ours):
        call = lambda x, ordered=False, m=m: m.io_callback(  # noqa: E731
            lambda y: np.asarray(y) + F32(1), struct(m), x, ordered=ordered
        )
        with pytest.raises(error, match=r"IO"):
            m.lib.vmap(make(m, call))(X)


def test_vmap_around_io_that_is_not_batched():
    def program(m, log):
        tick = lambda: m.io_callback(lambda: (log.append(1), F32(1))[1], struct(m), ordered=True)  # noqa: E731
        return m.lib.vmap(
            lambda x: m.lax.scan(lambda c, _: (c + tick(), None), x, None, length=2)[0]
        )

    assert both(program, X) == [1, 1]


def test_passes_keep_effects():
    def f(x):
        plugjax.jit(lambda y: io_callback(lambda z: None, None, y))(x)
        plugjax.lax.scan(
            lambda c, a: (io_callback(lambda: c, struct(Ours)), None) and (c, None), x, X
        )
        return x

    program = plugjax.make_jaxpr(f)(1.0)
    assert [str(e) for e in program.effects] == ["IO"]
    for platform in ("numpy", "xla"):
        kept = plugjax.execution.compile.run_passes(program, platform)
        assert [e.primitive.name for e in kept.eqns] == ["io_callback", "scan"]


def test_threads(on_backend):
    f = plugjax.jit(
        lambda x: plugjax.pure_callback(lambda y: np.asarray(y) * 2, struct(Ours, (3,)), x)
    )
    f(X)
    found = {}
    threads = [
        threading.Thread(target=lambda i=i: found.update({i: np.asarray(f(X * i))}))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        np.testing.assert_array_equal(found[i], X * i * 2)


# Caching ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["xla", "iree"])
def test_callbacks_are_not_in_the_persistent_cache(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PLUGJAX_CACHE_DIR", str(tmp_path))
    stored = lambda: [p for p in tmp_path.rglob("*") if p.is_file() and p.stat().st_size > 500]  # noqa: E731
    f = plugjax.jit(lambda x: plugjax.pure_callback(np.sin, struct(Ours, (3,)), x) + 1, device=name)
    np.testing.assert_allclose(f(X), np.sin(X) + 1, rtol=1e-6)
    assert stored() == []
    plugjax.jit(lambda x: plugjax.numpy.cos(x) * 1.25, device=name)(X)
    assert len(stored()) == 1


@pytest.mark.parametrize("kind", ["pure_callback", "io_callback", "debug_callback", "debug_print"])
def test_export_refuses_by_name(kind):
    def measure(x):
        return x

    calls = {
        "pure_callback": lambda x: plugjax.pure_callback(measure, struct(Ours, (3,)), x),
        "io_callback": lambda x: io_callback(measure, struct(Ours, (3,)), x),
        "debug_callback": lambda x: (plugjax.debug.callback(measure, x), x)[1],
        "debug_print": lambda x: (plugjax.debug.print("{}", x), x)[1],
    }
    with pytest.raises(LoweringError, match=kind) as caught:
        plugjax.export.iree.to_stablehlo({"entry": (calls[kind], (X,))})
    assert "measure" in str(caught.value) or kind == "debug_print"


def test_parameters_are_hashable():
    program = plugjax.make_jaxpr(
        lambda x: (
            plugjax.debug.print("{} {}", x, ["unhashable", {1}]),
            plugjax.pure_callback(np.sin, struct(Ours), x),
            io_callback(np.sin, struct(Ours), x),
        )
    )(1.0)
    for eqn in program.eqns:
        hash(tuple(eqn.params.items()))


def test_random_keys_arrive_as_keys(on_backend):
    seen = []
    f = lambda k: io_callback(lambda key: seen.append(str(key.dtype)), None, k)  # noqa: E731
    f(plugjax.random.key(0))
    plugjax.jit(f)(plugjax.random.key(0))
    assert seen == ["key<fry>"] * 2


def test_a_batch_that_is_spread_over_devices_needs_a_method():
    """Only devices of a mesh call one after the other without one."""
    for m in (plugjax, jax):

        def call(x, m=m):
            return m.pure_callback(np.sin, m.ShapeDtypeStruct((), "float32"), x)

        with pytest.raises(NotImplementedError, match="vmap_method"):
            m.vmap(call, axis_name="i", spmd_axis_name="i")(np.ones(3, "float32"))
