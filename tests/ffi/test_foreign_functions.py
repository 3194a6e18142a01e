"""Foreign functions of XLA: compiled handlers and jaxlib's own, against JAX where it calls the same ones."""

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.core.errors import JaxRuntimeError
from plugjax.extend.core import Primitive
from plugjax.interpreters import mlir

F32 = np.float32
X = np.array([1.0, 2.0, 3.0], F32)
MATRIX = np.arange(6, dtype=F32).reshape(2, 3)
TARGETS = ("axpy", "memory", "attributes", "count", "shared", "fail")


def struct(m, *shape, dtype=F32):
    return m.ShapeDtypeStruct(shape, dtype)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The handlers, compiled and registered; JAX finds them too, as there is one table in the process."""
    if shutil.which("g++") is None:
        pytest.skip("there is no C++ compiler")
    out = tmp_path_factory.mktemp("handlers") / "handlers.so"
    source = Path(__file__).with_name("handlers.cc")
    headers = plugjax.ffi.include_dir()
    subprocess.check_call(
        ["g++", "-std=c++17", "-w", "-shared", "-fPIC", "-I", headers, str(source), "-o", str(out)]
    )
    found = ctypes.cdll.LoadLibrary(str(out))
    for name in TARGETS:
        capsule = plugjax.ffi.pycapsule(getattr(found, f"test_{name}"))
        plugjax.ffi.register_ffi_target(f"test_{name}", capsule)
    return found


@pytest.fixture(autouse=True)
def on_xla():
    with plugjax.default_device("xla"):
        yield


def both(program, *args):
    """The results of ``program(m)`` from JAX and from here, eager and compiled; they are equal."""
    expected = jax.tree.leaves(jax.jit(program(jax))(*args))
    for run in (plugjax.jit(program(plugjax)), program(plugjax)):
        found = plugjax.tree.leaves(run(*args))
        assert len(found) == len(expected)
        for y, z in zip(found, expected, strict=True):
            assert (y.shape, y.dtype) == (z.shape, z.dtype)
            np.testing.assert_array_equal(y, z)
    return [np.asarray(z) for z in expected]


def axpy(m, **options):
    call = m.ffi.ffi_call("test_axpy", struct(m, 3), **options)
    return lambda x, y: call(x, y, alpha=F32(10))


def test_a_compiled_handler_runs(library):
    (found,) = both(axpy, X, X + 1)
    np.testing.assert_array_equal(found, 10 * X + X + 1)


def test_attributes_of_every_type(library):
    def program(m):
        call = m.ffi.ffi_call("test_attributes", struct(m, 6, dtype=np.float64))
        return lambda: call(
            a=np.int32(-1), b=5, c=True, text="four", numbers=X, more={"inner": 2.5}
        )

    with plugjax.enable_x64(), jax.enable_x64(True):
        (found,) = both(program)
    np.testing.assert_array_equal(found, [-1, 5, 1, 4, 6, 2.5])


def test_a_64_bit_result_needs_no_option(library):
    call = plugjax.ffi.ffi_call("test_attributes", struct(plugjax, 6, dtype=np.float64))
    assert plugjax.eval_shape(call).dtype == np.float64


@pytest.mark.parametrize(
    ("layouts", "expected"),
    [(None, [0, 1, 2, 3, 4, 5]), ([(1, 0)], [0, 3, 1, 4, 2, 5])],
    ids=["by rows", "by columns"],
)
def test_layouts_of_operands(library, layouts, expected):
    def program(m):
        shapes = (struct(m, 6), struct(m, dtype=np.int32))
        return m.ffi.ffi_call("test_memory", shapes, input_layouts=layouts)

    found, rank = both(program, MATRIX)
    np.testing.assert_array_equal(found, expected)
    assert rank == 2


def test_layouts_of_results(library):
    def program(m):
        layout = plugjax_or_jax_layout(m)((1, 0))
        shapes = [struct(m, 3, 2), struct(m, dtype=np.int32)]
        return m.ffi.ffi_call("test_memory", shapes, output_layouts=[layout, None])

    found, _ = both(program, MATRIX)
    np.testing.assert_array_equal(found, MATRIX.reshape(2, 3).T)


def plugjax_or_jax_layout(m):
    if m is jax:
        from jax.experimental.layout import Layout
    else:
        from plugjax.experimental.layout import Layout
    return Layout


def test_the_type_of_several_results_is_that_of_the_shapes(library):
    for kind in (list, tuple):
        shapes = kind([struct(plugjax, 2, 3), struct(plugjax, dtype=np.int32)])
        assert type(plugjax.ffi.ffi_call("test_memory", shapes)(MATRIX)) is kind


def test_a_result_in_the_memory_of_an_operand(library):
    def program(m):
        call = m.ffi.ffi_call("test_shared", struct(m, 3), input_output_aliases={0: 0})
        return lambda x: (call(x * 2), x)

    shared, untouched = both(program, X)
    np.testing.assert_array_equal(shared, 1)
    np.testing.assert_array_equal(untouched, X)


def test_effects_keep_a_call(library):
    def counted(**options):
        call = plugjax.ffi.ffi_call("test_count", struct(plugjax, 1), **options)

        def f(x):
            call(x)
            return x + 1

        before = library.test_calls()
        plugjax.block_until_ready(plugjax.jit(f)(X))
        return library.test_calls() - before

    assert counted() == 0
    assert counted(has_side_effect=True) == 1


def test_a_handler_fails(library):
    with pytest.raises(JaxRuntimeError, match="the handler says no"):
        plugjax.block_until_ready(
            plugjax.jit(plugjax.ffi.ffi_call("test_fail", struct(plugjax, 3)))(X)
        )


@pytest.mark.parametrize(
    "method",
    ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"],
)
def test_vmap(library, method):
    def program(m):
        # Of the last method the unbatched operand stays as it is; the handler repeats it.
        return m.vmap(axpy(m, vmap_method=method), (0, None))

    found, *_ = both(program, MATRIX, X)
    np.testing.assert_array_equal(found, 10 * MATRIX + X)


def test_vmap_moves_layouts(library):
    def program(m):
        shapes = (struct(m, 6), struct(m, dtype=np.int32))
        call = m.ffi.ffi_call(
            "test_memory", shapes, input_layouts=[(1, 0)], vmap_method="sequential"
        )
        return m.vmap(call, 2)

    found, _ = both(program, np.stack([MATRIX, MATRIX + 10], 2))
    np.testing.assert_array_equal(found[1], [10, 13, 11, 14, 12, 15])


def test_in_a_loop(library):
    def program(m):
        call = axpy(m)
        return lambda x: m.lax.fori_loop(0, 3, lambda _, y: call(x, y), m.numpy.zeros(3))

    (found,) = both(program, X)
    np.testing.assert_array_equal(found, 30 * X)


def test_a_custom_derivative(library):
    def program(m):
        @m.custom_jvp
        def f(x):
            return axpy(m)(x, x)

        f.defjvp(lambda primals, tangents: (f(*primals), 11 * tangents[0]))
        return m.grad(lambda x: f(x).sum())

    (found,) = both(program, X)
    np.testing.assert_array_equal(found, 11)


# Those that jaxlib ships --------------------------------------------------------------------------


def positive(n):
    a = np.random.default_rng(0).normal(size=(n, n)).astype(F32)
    return a @ a.T + n * np.eye(n, dtype=F32)


def test_lapack_needs_no_registration():
    a = positive(4)
    shapes = (struct(plugjax, 4, 4), struct(plugjax, dtype=np.int32))
    factor = plugjax.ffi.ffi_call(
        "lapack_spotrf_ffi", shapes, input_layouts=[(1, 0)], output_layouts=[(1, 0), None],
        input_output_aliases={0: 0},
    )  # fmt: skip
    found, info = plugjax.jit(lambda a: factor(a, uplo=np.uint8(ord("L"))))(a)
    assert info == 0
    np.testing.assert_allclose(np.tril(found), np.linalg.cholesky(a), rtol=1e-5)


def test_an_artifact_of_jax_that_calls_lapack():
    a = positive(4)
    artifact = jax.export.export(
        jax.jit(lambda a: tuple(jax.numpy.linalg.eigh(a))), platforms=["cpu"]
    )(a)
    loaded = plugjax.export.deserialize(artifact.serialize())
    values, _ = loaded.call(a)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), rtol=1e-5)


# What is written ----------------------------------------------------------------------------------


def custom_calls(m, f, *args):
    options = {} if m is jax else {"dialect": "stablehlo"}
    text = m.jit(f).lower(*args).as_text(**options)
    return [
        re.sub(r"%\w+(:\d+)?(#\d+)?", "%", line.strip())
        for line in text.splitlines()
        if "custom_call" in line
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"has_side_effect": True},
        {"input_layouts": [(1, 0), (1, 0)], "output_layouts": (1, 0)},
        {"input_output_aliases": {1: 0}},
        {"custom_call_api_version": 2, "legacy_backend_config": "text"},
    ],
    ids=str,
)
def test_the_text_is_that_of_jax(options):
    def program(m):
        call = m.ffi.ffi_call("test_text", struct(m, 2, 3), **options)
        typed = options.get("custom_call_api_version", 4) >= 4
        attributes = {"n": np.int32(1), "x": 1.5, "on": True, "s": "t", "v": X} if typed else {}
        return lambda x: call(x, x, **attributes)

    ours, theirs = (custom_calls(m, program(m), MATRIX) for m in (plugjax, jax))
    assert ours == theirs
    assert len(ours) == 1


def test_tokens_order_calls():
    def program(m):
        token = m.extend.core.abstract_token if m is plugjax else jax._src.core.abstract_token
        first = m.ffi.ffi_call("test_first", token, has_side_effect=True)
        second = m.ffi.ffi_call("test_second", struct(m, 3))
        return lambda x: second(first(x), x)

    ours, theirs = (custom_calls(m, program(m), X) for m in (plugjax, jax))
    assert ours == theirs
    assert "-> !stablehlo.token" in ours[0]


def test_lowering_rules_of_a_primitive(library):
    scaled_p = Primitive("scaled")
    scaled_p.def_abstract_eval(lambda x, y, *, alpha: x)
    mlir.register_lowering(scaled_p, plugjax.ffi.ffi_lowering("test_axpy"))
    f = plugjax.jit(lambda x, y: scaled_p.bind(x, y, alpha=F32(2)))
    np.testing.assert_array_equal(f(X, X), 3 * X)
    old_p = Primitive("old_scaled")
    old_p.def_abstract_eval(lambda x, *, alpha: x)
    mlir.register_lowering(old_p, plugjax.ffi.ffi_lowering("test_axpy", api_version=2))
    old = plugjax.jit(lambda x: old_p.bind(x, alpha=F32(2))).lower(X)
    with pytest.raises(ValueError, match="custom call API version"):
        old.as_text()


def test_sizes_that_are_not_known(library):
    (n,) = plugjax.export.symbolic_shape("n")

    def call(x):
        shape = plugjax.ShapeDtypeStruct(x.shape, F32)
        return plugjax.ffi.ffi_call("test_axpy", shape)(x, x, alpha=F32(1))

    allowed = [plugjax.export.DisabledSafetyCheck.custom_call("test_axpy")]
    exported = plugjax.export.export(plugjax.jit(call), disabled_checks=allowed, platforms=["cpu"])(
        plugjax.ShapeDtypeStruct((n,), F32)
    )
    np.testing.assert_array_equal(exported.call(X), 2 * X)


# Errors -------------------------------------------------------------------------------------------


def errors(m):
    """Calls that are refused, by name."""
    one = lambda **options: m.ffi.ffi_call("test_none", struct(m, 3), **options)  # noqa: E731
    return {
        "vmap_method": lambda: one(vmap_method="no"),
        "no shape": lambda: m.ffi.ffi_call("test_none", [1.0]),
        "text for the typed interface": lambda: one(legacy_backend_config="x"),
        "number of operands": lambda: one(input_layouts=[None])(X, X),
        "number of results": lambda: m.ffi.ffi_call("t", [struct(m, 3)], output_layouts=[])(X),
        "operand of an alias": lambda: one(input_output_aliases={1: 0})(X),
        "result of an alias": lambda: one(input_output_aliases={0: 1})(X),
        "shapes of an alias": lambda: one(input_output_aliases={0: 0})(X[:2]),
        "layouts of an alias": lambda: m.ffi.ffi_call(
            "t", struct(m, 2, 3), input_layouts=[(1, 0)], input_output_aliases={0: 0}
        )(MATRIX),
        "attribute": lambda: one()(X, n=[1]),
        "derivative": lambda: m.grad(lambda x: one()(x).sum())(X),
        "linear": lambda: m.linear_transpose(one(), X)(X),
        "vmap without a method": lambda: m.vmap(one())(MATRIX),
        "target": lambda: m.jit(one())(X),
        "type number": lambda: m.ffi.register_ffi_type_id("t", None),
    }


@pytest.mark.parametrize("name", sorted(errors(plugjax)))
def test_errors_are_of_the_types_of_jax(name):
    with pytest.raises(Exception) as theirs:
        errors(jax)[name]()
    kind = JaxRuntimeError if isinstance(theirs.value, jax.errors.JaxRuntimeError) else theirs.type
    with pytest.raises(kind) as ours:
        errors(plugjax)[name]()
    assert type(ours.value).__module__ == "builtins" or kind is JaxRuntimeError


def test_a_name_stands_for_one_function(library):
    capsule = plugjax.ffi.pycapsule(library.test_axpy)
    plugjax.ffi.register_ffi_target("test_axpy", capsule)
    with pytest.raises(RuntimeError, match="test_axpy"):
        plugjax.ffi.register_ffi_target("test_axpy", plugjax.ffi.pycapsule(library.test_fail))


# Other backends -----------------------------------------------------------------------------------


def triple(x, *, n):
    return n * x, np.int32(x.ndim)


plugjax.ffi.register_ffi_target("test_triple", triple, platform="numpy")


@pytest.mark.parametrize("device", ["numpy", "iree"])
def test_a_function_of_python_in_place_of_a_target(device):
    call = plugjax.ffi.ffi_call(
        "test_triple", (struct(plugjax, 3), struct(plugjax, dtype=np.int32)),
        vmap_method="sequential",
    )  # fmt: skip
    f = lambda x: call(x + 1, n=F32(3))  # noqa: E731
    with plugjax.default_device(device):
        for run in (f, plugjax.jit(f)):
            y, rank = run(X)
            np.testing.assert_array_equal(y, 3 * (X + 1))
            assert rank == 1
        mapped, _ = plugjax.jit(plugjax.vmap(f))(MATRIX)
    np.testing.assert_array_equal(mapped, 3 * (MATRIX + 1))


@pytest.mark.parametrize("device", ["numpy", "iree"])
def test_a_target_of_xla_alone_is_refused_by_name(device):
    call = plugjax.ffi.ffi_call("test_xla_only", struct(plugjax, 3))
    with plugjax.default_device(device):
        for run in (call, plugjax.jit(call)):
            with pytest.raises(JaxRuntimeError, match=f"test_xla_only for platform {device}"):
                run(X)


def test_results_of_a_function_of_python_are_checked():
    plugjax.ffi.register_ffi_target("test_wrong", lambda x: x[:2], platform="numpy")
    with plugjax.default_device("numpy"):
        with pytest.raises(JaxRuntimeError, match=r"result 0 is float32\[2\], float32\[3\]"):
            plugjax.ffi.ffi_call("test_wrong", struct(plugjax, 3))(X)
        with pytest.raises(JaxRuntimeError, match="gave 1 arrays"):
            plugjax.ffi.ffi_call("test_wrong", [struct(plugjax, 3)] * 2)(X)
    with pytest.raises(TypeError, match="function of NumPy arrays"):
        plugjax.ffi.register_ffi_target("test_wrong", None, platform="numpy")
    with pytest.raises(ValueError, match="another function"):
        plugjax.ffi.register_ffi_target("test_wrong", triple, platform="numpy")


def test_without_xla(monkeypatch):
    monkeypatch.setattr("plugjax.extend.extensions._found", lambda *_: None)
    with pytest.raises(RuntimeError, match="foreign functions are XLA's"):
        plugjax.ffi.include_dir()


def test_an_array_as_attribute_is_compared_by_value():
    call = plugjax.ffi.ffi_call("test_none", struct(plugjax, 3))
    first, second, other = (
        plugjax.make_jaxpr(lambda x, v=v: call(x, v=v))(X).eqns[0].params["attributes"]
        for v in (X, X.copy(), X + 1)
    )
    assert first == second
    assert hash(first) == hash(second)
    assert first != other


def test_eager_calls_are_made_ready_once(library):
    call = axpy(plugjax)
    x = jnp.asarray(X)
    call(x, x)
    lines = []
    with plugjax.log_compiles():
        import logging

        handler = logging.Handler()
        handler.emit = lambda record: lines.append(record.getMessage())
        logger = logging.getLogger("plugjax.debug.compilations")
        logger.addHandler(handler)
        call(x, x)
        logger.removeHandler(handler)
    assert lines == []
