"""Options and stages of jit against JAX; donation, dropped arguments and computation at tracing time."""

import copy
import inspect
import pickle
import warnings
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as pnp


@pytest.fixture(params=["xla", "iree"])
def on_compiler(request):
    """A backend whose programs are StableHLO."""
    with plugjax.default_device(request.param):
        yield request.param


V4, I3 = np.ones(4, np.float32), np.ones(3, np.int32)


def numpy_of(j):
    return jnp if j is jax else pnp


def fresh(j, n=4):
    """An array from a compiled function, of whose memory NumPy has no view."""
    return j.jit(lambda x: x + 1)(np.ones(n, np.float32))


def names(eqns):
    return [e.primitive.name for e in eqns]


def call_of(signature, *args, **kwargs):
    """A function jitted with options, called with arguments; `n` chooses the program, so it must be static."""
    fun, options = signature
    return lambda j: float(j.jit(fun, **options)(*args, **kwargs))


def scaled(x, n=3):
    return x * n if n > 2 else -x


def variadic(x, *args, n=2, **kwargs):
    return x * n + sum(args) if n > 1 else x


def keyword_only(x, *, n):
    return x * range(10)[n]


named, numbered = (scaled, {"static_argnames": "n"}), (scaled, {"static_argnums": 1})
RESULTS = {
    "static name, left out": call_of(named, 2.0),
    "static name, by position": call_of(named, 2.0, 4),
    "static name, by name": call_of(named, 2.0, n=1),
    "static name, all by name": call_of(named, n=6, x=2.0),
    "static number, left out": call_of(numbered, 2.0),
    "static number, by name": call_of(numbered, 2.0, n=5),
    "static negative number": call_of((scaled, {"static_argnums": -1}), 2.0, 1),
    "static number beyond the arguments": call_of(numbered, 2.0),
    "static among *args": call_of((variadic, {"static_argnums": 2, "static_argnames": ("n",)}), 1.0, 2.0, 3),
    "static keyword beside *args": call_of((variadic, {"static_argnames": ["n"]}), 1.0, 2.0, n=1),
    "static in **kwargs": call_of((variadic, {"static_argnames": ("n", "k")}), 1.0, k="text"),
    "static keyword-only": call_of((keyword_only, {"static_argnames": "n"}), 1.0, n=3),
    "static function": lambda j: float(j.jit(lambda f, x: f(x), static_argnums=0)(numpy_of(j).cos, 0.0)),
    "partial": lambda j: float(j.jit(partial(keyword_only, n=2))(1.0)),
    "decorator with options": lambda j: float(j.jit(static_argnames="n")(scaled)(1.0, n=3)),
    "shardings left open": lambda j: float(j.jit(scaled, in_shardings=None, out_shardings=None)(1.0)),
    "cache": lambda j: sizes(j),
    "inlined call": lambda j: names(
        j.make_jaxpr(lambda x: j.jit(numpy_of(j).sin, inline=True)(x) + 1)(1.0).eqns),
    "nested call": lambda j: names(j.make_jaxpr(lambda x: j.jit(numpy_of(j).sin)(x) + 1)(1.0).eqns),
    "inlined in a call": lambda j: names(j.make_jaxpr(j.jit(
        lambda x: j.jit(numpy_of(j).sin, inline=True)(x) + 1))(1.0).eqns[0].params["jaxpr"].eqns),
    "eval_shape of jit": lambda j: str(j.jit(lambda x: x + 1).eval_shape(j.ShapeDtypeStruct((3,), np.float32))),
    "eval_shape": lambda j: str(j.eval_shape(lambda x: {"a": x + 1}, j.ShapeDtypeStruct((3,), np.int8))),
    "shapes of make_jaxpr": lambda j: str(
        j.make_jaxpr(lambda x, n: {"a": x * n}, static_argnums=1, return_shape=True)(V4, 3)[1]),
    "make_jaxpr by name": lambda j: len(j.make_jaxpr(lambda x, y: x * y)(1.0, y=3).eqns),
    "axes of make_jaxpr": lambda j: names(
        j.make_jaxpr(lambda x: j.lax.axis_index("i") + x, axis_env=[("i", 3)])(1).eqns)[-1],
    "disabled": lambda j: disabled(j),
    "lowered": lambda j: str(j.jit(lambda x, y: x["a"] + y).lower(
        {"a": j.ShapeDtypeStruct((3,), np.float32)}, 1.0).out_info),
    "lowered trees": lambda j: trees(j.jit(lambda x, k=3: (x + k, {"a": x})).lower(1.0, k=4)),
    "lowered arguments": lambda j: infos(j.jit(lambda x, y: x + 1, donate_argnums=0).lower(V4, I3)),
    "traced arguments": lambda j: infos(j.jit(lambda x, y: x + 1).trace(V4, I3)),
    "traced": lambda j: described(j.jit(scaled).trace(j.ShapeDtypeStruct((3,), np.float32))),
    "traced to the end": lambda j: float(j.jit(lambda x: x + 1).trace(1.0).lower().compile()(2.0)),
    "compiled trees": lambda j: trees(j.jit(lambda x: (x, x)).lower(V4).compile()),
    "compiled avals": lambda j: str(j.jit(lambda x, y: x + 1).lower(V4, I3).compile().in_avals),
    "compiled with static": lambda j: j.jit(lambda n, x: x + n, static_argnums=0).lower(3, V4).compile()(V4).tolist(),
    "compiled with a dropped argument": lambda j: j.jit(lambda x, y: x + 1).lower(V4, I3).compile()(V4, I3).tolist(),
    "compiled weak": lambda j: float(j.jit(lambda x: x + 1).lower(np.float32(1)).compile()(1.0)),
    "known while tracing": lambda j: float(j.jit(lambda x: chosen(j, x))(1.0)),
    "traced while tracing": lambda j: round(float(j.grad(lambda x: early(j, x))(1.0)), 5),
    "ufuncs": lambda j: [j.jit(f)(*[V4] * f.nin).tolist() for f in (j.numpy.add, j.numpy.negative)],
    "object with attributes": lambda j: j.jit(Scale())(V4).tolist(),
    "object with attributes and a derivative": lambda j: derivative_of(j, j.custom_jvp(Scale())),
    "named": lambda j: float(j.named_call(j.named_scope("s")(lambda x: x + 1), name="q")(1.0)),
}  # fmt: skip


class Scale:
    """A function whose attributes have names that classes of functions may have."""

    def __init__(self):
        self._call = self._layout = self._take = self.lower = self.by_position = self._signature = 3
        self.fun = self.trace = None

    def __call__(self, x):
        return x * self._call


def derivative_of(j, f):
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 5))
    return float(j.grad(f)(2.0)), float(f(2.0))


def sizes(j):
    f = j.jit(lambda x: x + 1)
    f(1.0), f(1), f(2.0)
    before = f._cache_size()
    f.clear_cache()
    return before, f._cache_size()


def disabled(j):
    with j.disable_jit():
        return float(j.jit(lambda x: x if x > 0 else -x)(-2.0))


def trees(stage):
    return stage.in_tree.num_leaves, stage.out_tree.num_leaves


def infos(stage):
    return [
        (a.shape, a.dtype.name, a.donated)
        for a in jax.tree.leaves(stage.args_info, is_leaf=lambda a: hasattr(a, "donated"))
    ]


def described(traced):
    return traced.fun_name, str(traced.out_info), names(traced.jaxpr.eqns)


def early(j, x):
    with j.ensure_compile_time_eval():
        return numpy_of(j).sin(x)


def chosen(j, x):
    with j.ensure_compile_time_eval():
        positive = numpy_of(j).sum(j.jit(numpy_of(j).sin)(numpy_of(j).ones(3))) > 0
        assert positive
    return x if positive else -x


@pytest.mark.parametrize("name", RESULTS)
def test_as_in_jax(name):
    assert RESULTS[name](plugjax) == RESULTS[name](jax)


def compiled(j, *args):
    return j.jit(lambda x: x + 1).lower(*args).compile()


NUMBERS = {
    "int": 1, "NumPy scalar": np.int8(1), "array": np.array(1), "vector": np.array([1]), "unsigned vector": np.array([1], np.uint8),
    "list of NumPy scalars": [np.int32(1)], "tuple of both": (1, np.int64(1)), "list of arrays": [np.array(1)], "range": range(1, 2), "set": {1},
    "float": 1.0, "vector of floats": np.array([1.0]), "matrix": np.array([[1]]), "list of floats": [1.0], "vector of bools": np.array([True]), "str": "1",
}  # fmt: skip


@pytest.mark.parametrize("option", ["static_argnums", "donate_argnums"])
@pytest.mark.parametrize("name", NUMBERS)
def test_whatever_is_an_index_numbers_a_parameter(name, option):
    def call(j):
        try:
            return float(j.jit(scaled, **{option: NUMBERS[name]}, static_argnames="n")(2.0, 4))
        except TypeError:
            return "refused"
        except ValueError:
            return "static and donated"

    assert call(plugjax) == call(jax)


def one(x):
    return x


ERRORS = {
    "static is not hashable": lambda j: j.jit(lambda x, n: x, static_argnums=1)(1.0, [1]),
    "static name is not hashable": lambda j: j.jit(lambda x, n: x, static_argnames="n")(1.0, n=[1]),
    "static number out of range": lambda j: j.jit(one, static_argnums=3),
    "static name unknown": lambda j: j.jit(one, static_argnames="q"),
    "static number is a string": lambda j: j.jit(one, static_argnums="q"),
    "static name is a number": lambda j: j.jit(one, static_argnames=0),
    "static left out without default": lambda j: j.jit(lambda x, y: x, static_argnums=1)(1.0),
    "donated and static": lambda j: j.jit(one, donate_argnums=0, static_argnums=0),
    "donated number out of range": lambda j: j.jit(one, donate_argnums=3)(1.0),
    "donated name unknown": lambda j: j.jit(one, donate_argnames="q")(1.0),
    "no function": lambda j: j.jit(3),
    "make_jaxpr of no function": lambda j: j.make_jaxpr(3),
    "argument is no array": lambda j: j.jit(one)("a"),
    "result is no array": lambda j: j.jit(lambda x: "a")(1.0),
    "compiled for another dtype": lambda j: compiled(j, V4)(I3),
    "compiled for another shape": lambda j: compiled(j, V4)(np.ones(5, np.float32)),
    "compiled for another structure": lambda j: compiled(j, V4)(x=V4),
    "compiled without the static": lambda j: j.jit(lambda n, x: x, static_argnums=0)
    .lower(3, V4).compile()(3, V4),
    "compiled under jit": lambda j: j.jit(compiled(j, V4))(V4),
    "compiled under grad": lambda j: j.grad(lambda x: compiled(j, np.float32(1))(x))(np.float32(1)),
    "dialect": lambda j: j.jit(one).lower(1.0).as_text("nonsense"),
    "name of a scope": lambda j: j.named_scope(3).__enter__(),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_as_in_jax(name):
    with pytest.raises(Exception) as expected:
        ERRORS[name](jax)
    with pytest.raises(Exception) as found:
        ERRORS[name](plugjax)
    builtins = [c for c in expected.type.__mro__ if c.__module__ == "builtins"]
    assert isinstance(found.value, builtins[0])


# Donation.


def test_a_donated_array_is_gone(on_backend):
    x = fresh(plugjax)
    f = plugjax.jit(lambda x: x * 2, donate_argnums=0)
    np.testing.assert_array_equal(f(x), np.full(4, 4, np.float32))
    assert x.is_deleted()
    for use in (lambda: x + 1, lambda: np.asarray(x), lambda: f(x), x.block_until_ready):
        with pytest.raises(RuntimeError, match="deleted"):
            use()


def address(array):
    """Address of a buffer; leaves no view behind."""
    return array._placement.backend.get(array._buffer, array.aval, array.device).ctypes.data


def test_the_result_is_in_the_memory_of_the_donated_array(on_compiler):
    for _ in range(2):
        x = fresh(plugjax, 1024).block_until_ready()
        before = address(x)
        y = plugjax.jit(lambda x: x * 2, donate_argnums=0)(x).block_until_ready()
        assert address(y) == before
        np.testing.assert_array_equal(y, np.full(1024, 4, np.float32))


def test_donation_shows_in_the_lowered_program(on_compiler):
    lowered = plugjax.jit(lambda n, x, y: (n, x + y), donate_argnums=2).lower(I3, V4, V4)
    assert "tensor<4xf32> {tf.aliasing_output = 1 : i32}" in lowered.as_text()
    if on_compiler == "xla":
        assert "input_output_alias" in lowered.compile().as_text()


def test_a_view_that_numpy_holds_does_not_change(on_backend):
    x = fresh(plugjax)
    view = np.asarray(x)
    plugjax.jit(lambda x: x * 100, donate_argnums=0)(x)
    np.testing.assert_array_equal(view, np.full(4, 2, np.float32))


@pytest.mark.parametrize(
    "share", [lambda x: x, lambda x: x.reshape(32, 32), lambda x: plugjax.lax.cond(x[0] > 0, lambda v: v, pnp.sin, x)]
)  # fmt: skip
def test_what_passed_through_a_program_does_not_change_either(on_backend, share):
    x = fresh(plugjax, 1024)
    other = plugjax.jit(share)(x)
    plugjax.jit(lambda x: x * 100, donate_argnums=0)(x)
    np.testing.assert_array_equal(np.ravel(other), np.full(1024, 2, np.float32))


def test_donation_by_name_position_and_in_trees(on_backend):
    def donated(options, *args, **kwargs):
        plugjax.jit(lambda x, y: plugjax.tree.map(lambda v: v + y, x), **options)(*args, **kwargs)
        return [a.is_deleted() for a in plugjax.tree.leaves((args, kwargs)) if hasattr(a, "aval")]

    assert donated({"donate_argnums": 0}, {"a": fresh(plugjax), "b": fresh(plugjax, 3)}, 1.0) == [True, True]  # fmt: skip
    assert donated({"donate_argnames": "x"}, fresh(plugjax), 1.0) == [True]
    assert donated({"donate_argnames": ["x"]}, y=1.0, x=fresh(plugjax)) == [True]
    assert donated({"donate_argnums": (0,)}, x=fresh(plugjax), y=1.0) == [True]
    assert donated({}, fresh(plugjax), 1.0) == [False]


def fates(j, f, *args, **options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        j.jit(f, **options)(*args)
    words = [str(w.message).split("\n")[0] for w in found if w.category is UserWarning]
    return [x.is_deleted() for x in args], words


FATES = {
    "no result of its shape": lambda j: fates(j, lambda x: x.sum(), fresh(j), donate_argnums=0),
    "one of two": lambda j: fates(
        j, lambda x, y: x + y.sum(), fresh(j), fresh(j, 3), donate_argnums=(0, 1)
    ),
    "more than results": lambda j: fates(
        j, lambda x, y: x + y, fresh(j), fresh(j), donate_argnums=(0, 1)
    ),
    "unread": lambda j: fates(j, lambda x, y: y + 1, fresh(j), fresh(j), donate_argnums=0),
    "unread but kept": lambda j: fates(
        j, lambda x, y: y + 1, fresh(j), fresh(j), donate_argnums=0, keep_unused=True
    ),
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", FATES)
def test_unusable_donations_warn_and_leave_the_array(on_backend, name):
    assert FATES[name](plugjax) == FATES[name](jax)


def test_lowering_warns_of_unusable_donations():
    with pytest.warns(UserWarning, match=r"not usable: float32\[4\]"):
        plugjax.jit(lambda x: x.sum(), donate_argnums=0).lower(V4)


@pytest.mark.parametrize("donated", [0, (0, 1)])
def test_an_array_is_not_donated_and_used_at_once(on_backend, donated):
    x = fresh(plugjax)
    f = plugjax.jit(lambda x, y: (x + y, x - y), donate_argnums=donated)
    with pytest.raises(RuntimeError, match="donated"):
        f(x, x)
    with pytest.raises(RuntimeError, match="donated"):
        f(x, plugjax.device_put(x, x.device))
    assert not x.is_deleted()


def test_donation_under_transformations_is_left_out(on_backend):
    x = fresh(plugjax)
    f = plugjax.jit(lambda x: x * 2, donate_argnums=0)
    plugjax.jit(lambda x: f(x) + 1)(x)
    plugjax.grad(lambda x: f(x).sum())(x)
    assert not x.is_deleted()


def test_a_function_compiled_ahead_of_time_takes_donations(on_backend):
    x = fresh(plugjax)
    run = plugjax.jit(lambda x: x * 2, donate_argnums=0).lower(x).compile()
    np.testing.assert_array_equal(run(x), np.full(4, 4, np.float32))
    assert x.is_deleted()
    np.testing.assert_array_equal(run(V4), np.full(4, 2, np.float32))


def test_a_donated_array_of_another_device_is_gone_too():
    x = plugjax.device_put(V4, "numpy")
    with plugjax.default_device("numpy"):
        x = plugjax.jit(lambda x: x + 1)(V4)
    plugjax.jit(lambda x: x * 2, donate_argnums=0, device="xla")(x)
    assert x.is_deleted()


# Unused arguments.


def test_unread_arguments_are_dropped_from_the_program(on_compiler):
    def f(x, y):
        return x + 1

    dropped, kept = (plugjax.jit(f, keep_unused=k).lower(V4, I3) for k in (False, True))
    assert "tensor<3xi32>" not in dropped.as_text()
    assert "tensor<3xi32>" in kept.as_text()
    shardings = dropped.compile().input_shardings
    assert shardings[0][1] is None
    assert shardings[0][0] == kept.compile().input_shardings[0][1]


def test_unread_arguments_among_read_ones(on_backend):
    f = plugjax.jit(lambda a, b, c, d: (d - b, {"c": pnp.zeros(2)}), donate_argnums=3)
    d = fresh(plugjax)
    found = f(np.ones(7), V4, I3, d)
    np.testing.assert_array_equal(found[0], np.ones(4, np.float32))
    assert d.is_deleted()


def test_no_argument_is_read(on_backend):
    np.testing.assert_array_equal(plugjax.jit(lambda a, b: pnp.arange(3))(V4, V4), [0, 1, 2])


def test_an_argument_that_only_an_effect_reads_is_kept():
    seen = []
    f = plugjax.jit(lambda a, b: (plugjax.debug.callback(lambda v: seen.append(float(v)), b), a)[1])
    f(1.0, 2.0)
    plugjax.effects_barrier()
    assert seen == [2.0]


# Information of the stages.


def test_analyses(on_backend):
    lowered = plugjax.jit(lambda x: x @ x).lower(np.ones((4, 4), np.float32))
    run = lowered.compile()
    assert isinstance(run.as_text(), str)
    if on_backend == "xla":
        assert lowered.cost_analysis()["flops"] == run.cost_analysis()["flops"] == 128
        assert run.memory_analysis().argument_size_in_bytes == 64
    assert run.output_shardings == plugjax.jit(lambda: pnp.ones(1))().sharding


def test_options_of_the_compiler():
    options = {"xla_cpu_enable_fast_math": True}
    with plugjax.default_device("xla"):
        assert float(plugjax.jit(lambda x: x + 1, compiler_options=options)(1.0)) == 2
        assert float(plugjax.jit(lambda x: x + 1).lower(1.0).compile(compiler_options=options)(1.0)) == 2  # fmt: skip


def test_flags_of_the_iree_compiler():
    with plugjax.default_device("iree"):
        options = {"iree-opt-level": "O1"}
        assert float(plugjax.jit(lambda x: x + 1, compiler_options=options)(1.0)) == 2
        with pytest.raises(RuntimeError, match="iree-nonsense"):
            plugjax.jit(lambda x: x + 1, compiler_options={"iree-nonsense": 1})(1.0)


def test_unknown_options_of_the_compiler_are_errors(on_backend):
    with pytest.raises(RuntimeError, match="nonsense"):
        plugjax.jit(lambda x: x + 1, compiler_options={"nonsense": True})(1.0)


def test_shardings_on_one_device_choose_it():
    sharding = plugjax.device_put(V4, "xla").sharding
    y = plugjax.jit(lambda t: t["a"] + 1, in_shardings={"a": sharding}, out_shardings=sharding)({"a": 1.0})  # fmt: skip
    assert y.device.backend.name == "xla"
    with pytest.raises(ValueError, match="several devices"):
        plugjax.jit(one, in_shardings=sharding, out_shardings=plugjax.device_put(V4, "numpy").sharding)  # fmt: skip


def test_clear_caches_traces_again():
    calls = []
    f = plugjax.jit(lambda x: calls.append(1) or x)
    f(1.0), f(1.0)
    plugjax.clear_caches()
    f(1.0)
    assert len(calls) == 2


def test_donation_leaves_other_holders_of_the_buffer_alone(on_compiler):
    """``device_put`` to an array's own device makes another array with the same buffer."""
    x = plugjax.jit(lambda x: x + 1)(V4)
    before = np.array(x)
    y = plugjax.device_put(x, x.device)
    plugjax.jit(lambda x: x * 100, donate_argnums=0)(y)
    assert y.is_deleted() or y is x
    if y is not x:
        np.testing.assert_array_equal(x, before)


class Converted:
    """A container that converts its children to arrays."""

    def __init__(self, value):
        self.value = pnp.asarray(value)


plugjax.tree_util.register_pytree_node(
    Converted, lambda c: ((c.value,), None), lambda _, children: Converted(*children)
)


@pytest.mark.parametrize(
    "run",
    [
        lambda f, c: plugjax.jit(f)(c),
        lambda f, c: plugjax.jit(f, donate_argnums=0)(c),
        lambda f, c: plugjax.jit(lambda n, c: f(c), static_argnums=0)(1, c),
        lambda f, c: plugjax.jit(f).lower(c).compile()(c),
        lambda f, c: plugjax.jit(plugjax.jvp, static_argnums=0)(f, (c,), (c,))[1],
        lambda f, c: plugjax.vmap(f)(c),
        lambda f, c: plugjax.make_jaxpr(f)(c).eqns and f(c),
        lambda f, c: plugjax.jit(lambda c: Converted(f(c)))(c).value,
        lambda f, c: plugjax.jit(plugjax.grad(lambda c: pnp.sum(f(c))))(c).value * c.value,
    ],
)
def test_a_class_that_converts_what_it_holds_is_an_argument(run):
    value = pnp.arange(3.0)
    np.testing.assert_array_equal(run(lambda c: c.value * 2, Converted(value)), value * 2)


def test_what_is_no_array_is_named_in_a_class_that_converts():
    with pytest.raises(TypeError, match="argument `n` is no array"):
        plugjax.jit(lambda c, n: c.value)(Converted(1.0), "a word")


@plugjax.jit
def decorated(x):
    """Adds one."""
    return x + 1


class Holder:
    @plugjax.jit
    def method(holder, x):  # noqa: N805  # traced with a value in place of the object
        return x * 2


def test_a_jitted_function_says_what_it_is():
    def f(x):
        return x

    assert repr(plugjax.jit(f)) == repr(jax.jit(f)) == f"<PjitFunction of {f!r}>"
    assert not isinstance(plugjax.jit(f), type(f))
    assert (decorated.__name__, decorated.__doc__) == ("decorated", "Adds one.")
    assert "Holder.method" in repr(Holder.method)


def test_methods_are_those_of_jit_whatever_the_function_has():
    def f(x):
        return x

    f.lower = f.trace = f.clear_cache = None
    f.mark = 5
    jitted = plugjax.jit(f)
    assert jitted.lower(1.0).compile()(1.0) == 1.0
    assert jitted.trace(1.0).jaxpr.in_avals
    assert jitted.mark == 5


def test_a_jitted_function_is_a_method_in_a_class():
    @plugjax.tree_util.register_static
    class Static(Holder):
        pass

    assert Static().method(3) == 6
    assert plugjax.jit(lambda self, x: self + x)(self=1, x=2) == 3


def test_a_jitted_function_is_copied_and_pickled_as_functions_are():
    assert copy.deepcopy({"f": decorated})["f"] is copy.copy(decorated) is decorated
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    # One that no module has by its name takes its options along.
    static = plugjax.jit(decorated, static_argnums=0)
    found = pickle.loads(pickle.dumps(static))
    assert found is not static
    assert found(2) == 3
    assert found.trace(2).jaxpr.in_avals == []


def test_a_jitted_function_has_a_signature_of_its_own():
    for module in (jax, plugjax):
        compiled = module.jit(lambda x, /, y=2, *, z: x)
        signature = inspect.signature(compiled, follow_wrapped=False)
        assert str(signature) == "(x, /, y=2, *, z)"
        assert "PjitFunction" in str(type(compiled))


def test_a_class_whose_leaves_depend_on_what_they_are():
    @plugjax.tree_util.register_pytree_node_class
    class Held:
        def __init__(self, *held):
            self.held = held

        def tree_flatten(self):
            arrays = [x if isinstance(x, plugjax.Array) else None for x in self.held]
            return arrays, [None if isinstance(x, plugjax.Array) else x for x in self.held]

        @classmethod
        def tree_unflatten(cls, others, arrays):
            pairs = zip(arrays, others, strict=True)
            return cls(*(other if other is not None else array for array, other in pairs))

    x = plugjax.numpy.arange(3)
    twice = plugjax.jit(lambda a, held: (held.held[2] * a, Held(held.held[0] * a, 5)))
    found, held = twice(2, Held(x, 7, x + 1))
    assert found.tolist() == [2, 4, 6]
    assert held.held[0].tolist() == [0, 2, 4]
    assert held.held[1] == 5
