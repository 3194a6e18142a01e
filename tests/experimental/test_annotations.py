"""Annotations for XLA: what is written is what JAX writes, and nothing else changes, on any backend."""

import importlib
import re

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.experimental.layout import Format, Layout

X = np.arange(6, dtype=np.float32).reshape(2, 3)
SCHEDULED = r"(frontend_attributes = \{[^}]*\}|custom_call @\w+)"


def of(m, name):
    return importlib.import_module(f"{m.__name__}.experimental.{name}")


def hints(m, f, *args):
    """Operations of the lowered program that have hints, with these."""
    options = {} if m is jax else {"dialect": "stablehlo"}
    lines = m.jit(f).lower(*args).as_text(**options).splitlines()
    found = [line for line in lines if re.search(SCHEDULED, line)]
    # Names of values, and numbers of functions.
    return [
        re.sub(r"%\w+(:\d+)?(#\d+)?", "%", re.sub(r"_\d+\(", "(", line)).strip() for line in found
    ]


def metadata_block(m):
    def f(x):
        with of(m, "xla_metadata").set_xla_metadata(a="b", n=1, on=True):
            y = m.numpy.sin(x)
            with of(m, "xla_metadata").set_xla_metadata(a=None, c=2.5):
                z = m.numpy.cos(x)
        return y * 2 + z

    return f


def metadata_around_a_function(m):
    @of(m, "xla_metadata").set_xla_metadata(whole="yes")
    def f(x):
        return m.numpy.sin(x) + 1

    return f


def metadata_around_a_jitted_function(m):
    inner = of(m, "xla_metadata").set_xla_metadata(whole="yes")(m.jit(lambda x: m.numpy.tanh(x)))
    return lambda x: inner(x) * 2


def metadata_of_values(m):
    def f(x):
        y, z = of(m, "xla_metadata").set_xla_metadata((m.numpy.sin(x), x), key="v")
        return y * z

    return f


def metadata_of_a_derivative(m):
    def f(x):
        with of(m, "xla_metadata").set_xla_metadata(a="b"):
            return m.numpy.sin(x).sum()

    return m.grad(f)


def metadata_in_a_loop(m):
    def f(x):
        def body(_, y):
            with of(m, "xla_metadata").set_xla_metadata(a="b"):
                return m.numpy.sin(y)

        return m.lax.fori_loop(0, 3, body, x)

    return f


def group(m):
    return of(m, "scheduling_groups").scheduling_group("g")(lambda x: m.numpy.cos(x) * x)


def metadata_of_a_call(m):
    call = of(m, "scheduling_groups").xla_metadata_call
    return call(lambda x, *, y: {"z": x * y}, first="1", second="2")


def group_of_a_derivative(m):
    return m.grad(lambda x: group(m)(x).sum())


def group_in_vmap(m):
    return m.vmap(group(m))


def computed_on_the_host(m):
    def f(x):
        with of(m, "compute_on").compute_on("device_host"):
            y = m.numpy.sin(x) * 2
        return y + x

    return f


def call_computed_on_the_host(m):
    compute_on2 = of(m, "compute_on").compute_on2
    space = m.memory.Space.Device
    return compute_on2(
        lambda x: (m.numpy.sin(x), x + 1), compute_type="device_host", out_memory_spaces=space
    )


def call_with_options(m):
    compute_on2 = of(m, "compute_on").compute_on2
    spaces = {"a": m.memory.Space.Device}
    decorate = compute_on2(
        compute_type="device", out_memory_spaces=spaces, compiler_options={"fast": 1}
    )
    return decorate(lambda x: {"a": m.numpy.sin(x)})


def call_of_a_derivative(m):
    f = call_computed_on_the_host(m)
    return m.grad(lambda x: sum(y.sum() for y in f(x)))


def ordered(m):
    def f(x):
        parts = [m.numpy.sin(x), m.numpy.cos(x), m.numpy.exp(x)]
        of(m, "control_deps").schedule(parts)
        return parts

    return f


def laid_out(m):
    layout = of(m, "layout")
    return lambda x: layout.with_layout_constraint(x * 2, layout.Layout((1, 0))).T @ x


def laid_out_in_vmap(m):
    layout = of(m, "layout")
    one = lambda x: layout.with_layout_constraint(x * 2, layout.Layout((0,))) + 1  # noqa: E731
    return m.vmap(one, 1)


def derivative_of_what_is_laid_out(m):
    return m.grad(lambda x: (laid_out(m)(x) ** 2).sum())


PROGRAMS = [
    metadata_block, metadata_around_a_function, metadata_around_a_jitted_function, metadata_of_values,
    metadata_of_a_derivative, metadata_in_a_loop, group, metadata_of_a_call, group_of_a_derivative, group_in_vmap,
    computed_on_the_host, call_computed_on_the_host, call_with_options, call_of_a_derivative, ordered, laid_out,
    laid_out_in_vmap, derivative_of_what_is_laid_out,
]  # fmt: skip


def arguments(program, m=plugjax):
    x = m.numpy.asarray(X)
    return ({"x": x, "y": x},) if program is metadata_of_a_call else (x,)


def called(f, program):
    return (lambda x: f(x["x"], y=x["y"])) if program is metadata_of_a_call else f


# JAX keeps the call of a small jitted function.
@pytest.mark.parametrize(
    "program",
    [p for p in PROGRAMS if p is not metadata_around_a_jitted_function],
    ids=lambda p: p.__name__,
)
def test_the_text_is_that_of_jax(program):
    ours, theirs = (
        hints(m, called(program(m), program), *arguments(program, m)) for m in (plugjax, jax)
    )
    assert ours
    assert sorted(ours) == sorted(theirs)


@pytest.mark.spread(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("device", ["numpy", "xla"])
def test_values_are_those_of_jax(device, program):
    expected = jax.tree.leaves(called(program(jax), program)(*arguments(program, jax)))
    with plugjax.default_device(device):
        f = called(program(plugjax), program)
        for run in (f, plugjax.jit(f)):
            found = plugjax.tree.leaves(run(*arguments(program)))
            for y, z in zip(found, expected, strict=True):
                assert (y.shape, y.dtype) == (z.shape, z.dtype)
                np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-6)


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    "program",
    [metadata_in_a_loop, metadata_of_values, group_of_a_derivative, call_computed_on_the_host, ordered, laid_out],
    ids=lambda p: p.__name__,
)  # fmt: skip
def test_iree_ignores_them(program):
    expected = jax.tree.leaves(program(jax)(jax.numpy.asarray(X)))
    with plugjax.default_device("iree"):
        found = plugjax.tree.leaves(plugjax.jit(program(plugjax))(X))
    for y, z in zip(found, expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "program",
    [group, call_computed_on_the_host, metadata_of_values, laid_out_in_vmap],
    ids=lambda p: p.__name__,
)
def test_jaxprs_are_those_of_jax(program):
    ours, theirs = (str(m.make_jaxpr(program(m))(X)) for m in (plugjax, jax))
    drop = r" ?(preferred_element_type|out_sharding)=\w+"
    assert re.sub(drop, "", ours) == re.sub(drop, "", theirs)


def test_a_jitted_function_is_traced_for_each_metadata():
    traced = []
    set_xla_metadata = of(plugjax, "xla_metadata").set_xla_metadata

    @plugjax.jit
    def f(x):
        traced.append(1)
        return jnp.sin(x)

    texts = []
    for value in ("one", "two", "one"):
        with set_xla_metadata(key=value):
            f(X)
            texts.append(f.lower(X).as_text("stablehlo"))
    f(X)
    assert len(traced) == 3
    assert 'key = "one"' in texts[0]
    assert 'key = "two"' in texts[1]
    assert texts[0] == texts[2]
    assert "key" not in f.lower(X).as_text("stablehlo")


def test_equal_equations_with_other_metadata_are_two():
    set_xla_metadata = of(plugjax, "xla_metadata").set_xla_metadata

    def f(x):
        y = jnp.sin(x)
        with set_xla_metadata(key="v"):
            return y * jnp.sin(x)

    text = plugjax.jit(f).lower(X).as_text("stablehlo")
    assert text.count("stablehlo.sine") == 2
    assert text.count('{key = "v"}') == 2  # The second sine, and the product.


def test_interpreters_keep_metadata():
    for m in (jax, plugjax):
        program = m.make_jaxpr(metadata_block(m))(X)
        assert [bool(eqn.ctx.xla_metadata) for eqn in program.eqns] == [True, True, False, False]

        def interpreted(x, program=program):
            values = {program.jaxpr.invars[0]: x}
            for eqn in program.eqns:
                read = [values[v] if not hasattr(v, "val") else v.val for v in eqn.invars]
                with eqn.ctx.manager:
                    values[eqn.outvars[0]] = eqn.primitive.bind(*read, **eqn.params)
            return values[program.jaxpr.outvars[0]]

        assert hints(m, interpreted, X) == hints(m, metadata_block(m), X)


def test_scopes_keep_metadata():
    set_xla_metadata = of(plugjax, "xla_metadata").set_xla_metadata

    def f(x):
        with set_xla_metadata(key="v"), plugjax.named_scope("inner"):
            return jnp.sin(x)

    text = plugjax.jit(f).lower(X).as_text("stablehlo", debug_info=True)
    assert '{key = "v"}' in text
    assert "f/inner/sin" in text


def test_calls_in_bodies_are_inlined_where_they_mean_nothing():
    f = group(plugjax)
    loop = lambda x: plugjax.lax.fori_loop(0, 2, lambda _, y: f(f(y)), x)  # noqa: E731
    expected = plugjax.jit(loop, device="xla")(X)
    with plugjax.default_device("numpy"):
        lowered = plugjax.jit(loop).lower(X)
        assert "xla_metadata_call" not in lowered.as_text()
        np.testing.assert_allclose(plugjax.jit(loop)(X), expected, rtol=1e-6)


def test_fused_functions_are_computed_on_a_processor(on_backend):
    fused = of(plugjax, "fused").fused(out_spaces=(plugjax.memory.Space.Device,))
    f = fused(lambda x: jnp.sin(x) * 2)
    np.testing.assert_allclose(plugjax.jit(f)(X), 2 * np.sin(X), rtol=1e-4)
    assert "out_spaces=(MemorySpace.Device,)" in str(plugjax.make_jaxpr(f)(X))


@pytest.mark.parametrize(
    "call",
    [
        lambda m: of(m, "compute_on").compute_on("nowhere").__enter__(),
        lambda m: of(m, "compute_on").compute_on(3).__enter__(),
        lambda m: of(m, "compute_on").compute_on2(
            abs, compute_type="gpu", out_memory_spaces=m.memory.Space.Device
        ),
        lambda m: m.jit(of(m, "scheduling_groups").scheduling_group(3)(lambda x: x + 1)).lower(X).as_text(
            *[] if m is jax else ["stablehlo"]
        ),
        lambda m: of(m, "layout").with_layout_constraint(X, None),
        lambda m: of(m, "layout").with_layout_constraint(X, of(m, "layout").Layout((0,))),
        lambda m: of(m, "layout").Format(of(m, "layout").Layout((0,))),
        lambda m: of(m, "layout").Format(3),
        lambda m: of(m, "layout").Format(None, 3),
        lambda m: of(m, "layout").Layout((0,)).check_compatible_aval((1, 2)),
    ],
)  # fmt: skip
def test_errors_are_of_the_types_of_jax(call):
    kinds = []
    for m in (jax, plugjax):
        with pytest.raises(Exception) as found:
            call(m)
        kinds.append(found.type)
    assert kinds[0] is kinds[1]


def test_calls_within_one_another_are_refused():
    for m in (jax, plugjax):
        inner = call_computed_on_the_host(m)
        outer = of(m, "compute_on").compute_on2(
            inner, compute_type="device", out_memory_spaces=m.memory.Space.Device
        )
        with pytest.raises(ValueError, match="Nesting"):
            m.jit(outer, **({} if m is jax else {"device": "xla"}))(X)


# Formats ------------------------------------------------------------------------------------------


def test_arrays_say_how_they_lie():
    for m in (jax, plugjax):
        found = m.numpy.ones((2, 3, 4)).format
        assert found.layout.major_to_minor == (0, 1, 2)
        assert found.layout.tiling == ()
        assert found.sharding == m.numpy.ones(2).sharding
    x = jnp.ones((2, 3))
    assert x.format == x.format
    assert hash(x.format) == hash(x.format)
    assert x.format != jnp.ones(2).format


def test_layouts_are_compared_by_value():
    assert Layout([0, 1]) == Layout((0, 1))
    assert Layout((0, 1)) != Layout((1, 0))
    assert len({Layout((0, 1)), Layout((0, 1)), Layout((0, 1), ())}) == 2
    assert repr(Layout.AUTO) == "AUTO"


def test_formats_in_place_of_shardings():
    x = jnp.ones((2, 3))
    f = plugjax.jit(lambda x: x * 2, in_shardings=x.format, out_shardings=Format(Layout.AUTO))
    np.testing.assert_array_equal(f(x), 2 * x)
    with pytest.warns(UserWarning, match="row by row"):
        f = plugjax.jit(lambda x: x * 2, out_shardings=Format(Layout((1, 0)), x.sharding))
    np.testing.assert_array_equal(f(x), 2 * x)
    assert f(x).format == Format(Layout((0, 1), ()), x.sharding)


def test_arrays_are_put_by_formats():
    x, there = jnp.ones((2, 3)), plugjax.device_put(1.0, "xla").sharding
    y = plugjax.device_put(x, Format(Layout((0, 1)), there))
    assert y.sharding == there
    with pytest.warns(UserWarning, match="row by row"):
        y = plugjax.device_put(x, Format(Layout((1, 0)), there))
    assert y.format == Format(Layout((0, 1), ()), there)
    assert plugjax.device_put(x, Format()).sharding == x.sharding


@pytest.mark.parametrize("name", ["numpy", "xla"])
def test_arrays_are_put_into_memories(name):
    spaces = plugjax.memory.Space

    def f(x):
        y = plugjax.device_put(jnp.sin(x), spaces.Host)
        return (plugjax.device_put(y, spaces.Device) * x).sum()

    with plugjax.default_device(name):
        x = plugjax.device_put(X, name)
        y = plugjax.device_put(x, spaces.Host)
        assert (y.device, y.committed) == (x.device, x.committed)
        a, _ = plugjax.device_put((x, x), (spaces.Host, spaces.Device))
        np.testing.assert_array_equal(a, X)
        np.testing.assert_allclose(
            plugjax.jit(plugjax.grad(f))(x),
            jax.grad(lambda x: (jax.numpy.sin(x) * x).sum())(X),
            rtol=1e-5,
        )


def test_values_that_are_split_alike(on_backend):
    shard_alike = of(plugjax, "shard_alike").shard_alike
    tree = lambda x: {"a": x, "b": (x + 1,)}  # noqa: E731
    for run in (shard_alike, plugjax.jit(shard_alike)):
        x, y = run(tree(X), tree(2 * X))
        np.testing.assert_array_equal(x["a"], X)
        np.testing.assert_array_equal(y["b"][0], 2 * X + 1)
    x, y = plugjax.vmap(shard_alike, (0, None))(X, X[0])
    np.testing.assert_array_equal(y, np.stack([X[0], X[0]]))
    grad = plugjax.grad(lambda x: (shard_alike(x, 2 * x)[1] * x).sum())(X)
    np.testing.assert_array_equal(grad, 4 * X)


def test_what_cannot_be_split_alike():
    for m in (jax, plugjax):
        shard_alike = of(m, "shard_alike").shard_alike
        with pytest.raises(ValueError, match="Trees should be equal"):
            shard_alike((X,), [X])
        with pytest.raises(ValueError, match="shapes"):
            shard_alike(X, X.T)


def test_formats_of_compiled_functions():
    x = jnp.ones((2, 3))
    compiled = plugjax.jit(lambda x, *, y: {"a": x.T + y}).lower(x, y=jnp.ones(())).compile()
    (args, kwargs), results = compiled.input_formats, compiled.output_formats
    assert args == (x.format,)
    assert kwargs == {"y": jnp.ones(()).format}
    assert results == {"a": x.T.format}


# Memories -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["numpy", "xla", "iree"])
def test_memories_of_a_device(name):
    (theirs,) = jax.devices()
    ours = plugjax.devices(name)[0]
    kinds = [m.kind for m in theirs.addressable_memories()]
    assert [m.kind for m in ours.addressable_memories()] == kinds
    assert ours.default_memory().kind == theirs.default_memory().kind
    for kind in kinds:
        memory = ours.memory(kind)
        assert memory in ours.addressable_memories()
        assert memory.addressable_by_devices() == [ours]
        assert (memory.platform, memory.process_index) == ("cpu", 0)
    with pytest.raises(RuntimeError, match="Could not find memory addressable by device"):
        ours.memory("disk")
    assert ours.memory_stats() is None
    assert [s.name for s in plugjax.memory.Space] == [s.name for s in jax.memory.Space]
