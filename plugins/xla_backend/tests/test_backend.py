"""The backend under plugjax: placement, running, donation, errors, persistent cache."""

import os
import subprocess
import sys
import textwrap

import ml_dtypes
import numpy as np
import pytest

import plugjax_numpy.plugin
from plugjax.calls import plugin as core_plugin
from plugjax.core import registry
from plugjax.core.aval import ShapedArray
from plugjax.core.backend import get_backend
from plugjax.core.config import config
from plugjax.core.dtypes import float0
from plugjax.core.effects import Effect, effects_rule
from plugjax.core.errors import JaxRuntimeError
from plugjax.core.registry import Registry
from plugjax.execution.compilation_cache import CompilationCache
from plugjax.execution.jit.api import clear_caches, jit
from plugjax.extend.core import Primitive, device_put
from plugjax.extend.rules import RuleSet, abstract_eval, hookimpl, impl
from plugjax.lax import arithmetic, plugin as lax_plugin, trigonometric
from plugjax.stablehlo import plugin as stablehlo_plugin
from plugjax_xla import plugin as xla_plugin

PLUGINS = (core_plugin, lax_plugin, plugjax_numpy.plugin, stablehlo_plugin, xla_plugin)
X = np.arange(6, dtype=np.float32)


@pytest.fixture(autouse=True)
def registered():
    with registry.use(Registry().load(*PLUGINS)) as found:
        yield found


@pytest.fixture
def backend(registered):
    return get_backend("xla")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PLUGJAX_CACHE_DIR", str(tmp_path))
    return CompilationCache(tmp_path)


def same(found, expected):
    return np.array_equal(np.asarray(found), np.asarray(expected))


def in_new_process(code):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_processor_is_there_without_starting_the_runtime():
    out = in_new_process(
        """
        import sys
        from plugjax_xla import plugin
        assert "jaxlib" not in sys.modules
        (spec,) = plugin.plugjax_backends()
        backend = spec.load()
        from plugjax_xla import pjrt
        print([str(d) for d in backend.devices()], pjrt._clients, "jax" in sys.modules)
        """
    )
    assert out.split() == ["['xla:cpu:0']", "{}", "False"]


def test_backend_is_absent_when_what_it_needs_is(registered):
    spec = registered.backends()["xla"]

    class Plugin:
        @hookimpl
        def plugjax_backends(self):
            return [type(spec)("imaginary", spec.load, needs=("no_such_module",))]

    registered.load(Plugin())
    assert "imaginary" not in registered.backends()
    assert "xla" in registered.backends()


@pytest.mark.parametrize(
    "value",
    [
        X,
        np.float32(1.5),
        np.zeros((0, 3), np.int32),
        np.asfortranarray(X.reshape(2, 3)),
        np.array([True, False]),
        np.array([1 + 2j], np.complex64),
        X.astype(ml_dtypes.bfloat16),
        X.astype(ml_dtypes.float8_e4m3fn),
        X.astype(ml_dtypes.int4),
        np.zeros(3, float0),
    ],
    ids=lambda v: f"{v.dtype.name}{list(v.shape)}",
)
def test_values_come_back_as_they_were_put(backend, value):
    value = np.asarray(value)
    buffer = backend.put(value, backend.devices()[-1])
    found = backend.get(buffer, ShapedArray(value.shape, value.dtype), backend.devices()[-1])
    assert (found.dtype, found.shape) == (value.dtype, value.shape)
    assert found.tobytes() == value.tobytes()


def test_jit_runs_on_the_device_it_is_told():
    result = jit(lambda x: arithmetic.add(x, x), device="xla:cpu:0")(X)
    assert str(result.device) == "xla:cpu:0"
    assert same(result, X + X)


def test_result_without_operands():
    assert float(jit(lambda: np.float32(3), device="xla")()) == 3


def test_large_constants_are_arguments():
    table = np.arange(1000, dtype=np.float32)
    function = jit(lambda x: arithmetic.add(x, table), device="xla")
    assert same(function(np.ones(1000, np.float32)), table + 1)


def test_small_operations_run_on_the_host_and_large_ones_are_compiled(backend):
    small, large = ShapedArray((8,), np.float32), ShapedArray((1 << 20,), np.float32)
    assert backend.runs_on_host(backend.devices()[0], trigonometric.sin_p, [small], [small])
    assert not backend.runs_on_host(backend.devices()[0], trigonometric.sin_p, [large], [large])


def test_compiled_eager_operation_agrees_with_the_host_kernel():
    x = device_put(X, "xla")
    with config.override("eager", "compile"):
        compiled = np.asarray(trigonometric.sin(x))
    with config.override("eager", "host"):
        assert np.allclose(compiled, np.asarray(trigonometric.sin(x)), atol=1e-6)


def test_donated_argument_is_deleted_and_its_memory_used():
    def step(x):
        return arithmetic.add(x, np.float32(1))

    run = jit(step, device="xla", donate_argnums=0)
    first = run(device_put(np.zeros(4096, np.float32), "xla"))
    address = first._resident().unsafe_buffer_pointer()
    second = run(first)
    assert first.is_deleted()
    assert second._resident().unsafe_buffer_pointer() == address
    assert np.asarray(second)[0] == 2


def test_donation_never_writes_into_host_memory_that_others_see():
    host = np.zeros(4096, np.float32)
    x = device_put(host, "xla")
    view = np.asarray(x)
    jit(lambda v: arithmetic.add(v, np.float32(1)), device="xla", donate_argnums=0)(x)
    assert not view.any()
    assert not host.any()


def test_texts_and_analyses():
    lowered = jit(lambda x: arithmetic.add(x, x), device="xla").lower(X)
    assert "stablehlo.add" in lowered.as_text()
    compiled = lowered.compile()
    assert "HloModule" in compiled.as_text()
    assert compiled.cost_analysis()["flops"] == X.size
    assert compiled.memory_analysis()["argument_size_in_bytes"] == X.nbytes


def test_compiler_options_reach_xla():
    options = {"xla_cpu_enable_fast_math": True}
    function = jit(lambda x: arithmetic.add(x, x), device="xla", compiler_options=options)
    assert same(function(X), X + X)


def test_unknown_compiler_option_is_a_runtime_error():
    function = jit(arithmetic.neg, device="xla", compiler_options={"no_such_flag": 1})
    with pytest.raises(JaxRuntimeError, match="no_such_flag"):
        function(X)


def test_deleted_argument_is_a_runtime_error(backend):
    x = device_put(X, "xla")
    compiled = jit(arithmetic.neg, device="xla").lower(x).compile()
    buffer = backend.put(X, backend.devices()[-1])
    backend.delete(buffer)
    with pytest.raises(JaxRuntimeError, match="INVALID_ARGUMENT"):
        compiled._compiled.executable.run([buffer])


class Noted(Effect):
    """An effect that keeps an equation alive."""


def host_plugin(kernel, *, effectful=False):
    primitive = Primitive("hosted")
    rules = RuleSet(__name__)
    rules.define(abstract_eval, primitive)(lambda x: x)
    rules.define(impl, primitive)(kernel)
    if effectful:
        rules.define(effects_rule, primitive)(lambda **_: frozenset({Noted()}))

    class Plugin:
        @hookimpl
        def plugjax_rules(self):
            return [rules]

    return primitive, Plugin()


@pytest.fixture
def silent():
    with config.override("fallback", "silent"):
        yield


@pytest.mark.parametrize("kind", [ValueError, RuntimeError])
def test_exception_of_a_host_kernel_arrives_as_it_was_raised(registered, silent, kind):
    def kernel(x):
        raise kind("from the kernel")

    primitive, plugin = host_plugin(kernel)
    registered.load(plugin)
    with pytest.raises(kind, match="from the kernel") as caught:
        np.asarray(jit(primitive.bind, device="xla")(X))
    assert not isinstance(caught.value, JaxRuntimeError)


def test_host_kernel_of_wrong_shape_is_named(registered, silent):
    primitive, plugin = host_plugin(lambda x: x[:2])
    registered.load(plugin)
    with pytest.raises(TypeError, match=r"host kernel of hosted.*float32"):
        np.asarray(jit(primitive.bind, device="xla")(X))


def test_programs_with_host_kernels_are_not_cached(registered, silent, cache):
    primitive, plugin = host_plugin(lambda x: x + 1)
    registered.load(plugin)
    assert same(jit(primitive.bind, device="xla")(X), X + 1)
    assert cache.entries() == []


def cached_program(x):
    return arithmetic.add(trigonometric.sin(x), np.float32(0.25))


def test_cache_entry_serves_the_next_compilation(cache):
    first = jit(cached_program, device="xla")(X)
    (entry,) = cache.entries()
    second = jit(cached_program, device="xla")(X)
    assert [e.key for e in cache.entries()] == [entry.key]
    assert same(first, second)


def test_cache_is_left_alone_when_it_is_switched_off(cache):
    with config.override("enable_compilation_cache", False):
        jit(cached_program, device="xla")(X)
    assert cache.entries() == []


def test_compiler_options_and_numerics_are_part_of_the_key(cache):
    jit(cached_program, device="xla")(X)
    jit(cached_program, device="xla", compiler_options={"xla_cpu_enable_fast_math": True})(X)
    with config.override("numerics", "strict"):
        jit(cached_program, device="xla")(X)
    assert len(cache.entries()) == 3


def test_entry_that_cannot_be_loaded_is_replaced(cache):
    jit(cached_program, device="xla")(X)
    (entry,) = cache.entries()
    cache.put(entry.key, b"whole, but no executable")
    clear_caches()
    found = np.asarray(jit(cached_program, device="xla")(X))
    assert np.allclose(found, np.sin(X) + 0.25, atol=1e-6)
    assert len(cache.get(entry.key)) > 100


PROGRAM = """
    import numpy as np
    import plugjax_numpy.plugin
    from plugjax.calls import plugin as calls_plugin
    from plugjax.core import registry
    from plugjax.core.registry import Registry
    from plugjax.execution.jit.api import jit
    from plugjax.lax import arithmetic, plugin as lax_plugin, trigonometric
    from plugjax.stablehlo import plugin as stablehlo_plugin
    from plugjax_xla import backend, plugin as xla_plugin

    plugins = (calls_plugin, lax_plugin, plugjax_numpy.plugin, stablehlo_plugin, xla_plugin)
    with registry.use(Registry().load(*plugins)):
        def program(x):
            return arithmetic.add(trigonometric.sin(x), np.float32(0.25))

        result = jit(program, device="xla")(np.arange(6, dtype=np.float32))
        stats = backend._cache().stats()
        print(stats.hits, stats.writes, np.asarray(result).tobytes().hex())
"""


def test_second_process_loads_what_the_first_compiled(cache):
    hits, writes, value = in_new_process(PROGRAM).split()
    assert (hits, writes) == ("0", "1")
    assert in_new_process(PROGRAM).split() == ["1", "0", value]
