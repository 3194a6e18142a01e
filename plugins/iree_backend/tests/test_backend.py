"""The backend as plugjax sees it: values, control flow, calls to Python, donation, the cache, errors."""

import os
import subprocess
import sys
import textwrap
import threading
from contextlib import nullcontext

import ml_dtypes
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.core import registry
from plugjax.core.array import aval_of
from plugjax.core.backend import get_backend
from plugjax.core.errors import FallbackWarning, JaxRuntimeError
from plugjax.extend.core import Primitive
from plugjax.extend.rules import RuleSet, abstract_eval, hookimpl, impl
from plugjax_iree.compile import CompileTarget, compile_stablehlo, process
from plugjax_iree.compile.program import compile_ahead, lower_program
from plugjax_iree.exporter import IreeExporter
from plugjax_iree.runtime import LoadedModule

X = np.arange(6, dtype=np.float32)


@pytest.fixture(params=["iree:local:0", "iree:task:0"])
def on_device(request):
    with plugjax.default_device(request.param):
        yield request.param


@pytest.fixture
def on_iree():
    with plugjax.default_device("iree"):
        yield


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
        X.astype(np.float16),
        np.array([255, 0], np.uint8),
        X.astype(ml_dtypes.float8_e4m3fn),
    ],
    ids=lambda v: f"{v.dtype.name}{list(np.shape(v))}",
)
def test_values_come_back_as_they_were_put(value):
    backend = get_backend("iree")
    for target in backend.devices()[:2]:
        value = np.asarray(value)
        aval = aval_of(value)
        found = backend.get(backend.put(value, target), aval, target)
        assert (found.shape, found.dtype) == (value.shape, value.dtype)
        assert found.tobytes() == value.tobytes()


def test_control_flow(on_device):
    @plugjax.jit
    def program(x):
        total, steps = lax.scan(lambda c, v: (c + v, c * v), np.float32(0), x)
        doubled = lax.while_loop(lambda c: c[0] < 100, lambda c: (c[0] * 2, c[1] + 1), (total, 0))
        chosen = lax.cond(total > 3, lambda v: v + 1, lambda v: v - 1, x)
        backwards, _ = lax.scan(lambda c, v: (c * 2 + v, None), np.float32(0), x, reverse=True)
        return total, steps, doubled, chosen, backwards, plugjax.jit(lambda v: v * 3)(x)

    total, steps, (value, count), chosen, backwards, nested = program(X)
    assert float(total) == 15
    np.testing.assert_array_equal(steps, np.concatenate([[0], np.cumsum(X)[:-1]]) * X)
    assert (float(value), int(count)) == (120, 3)
    np.testing.assert_array_equal(chosen, X + 1)
    assert float(backwards) == sum(2**i * v for i, v in enumerate(X))
    np.testing.assert_array_equal(nested, X * 3)


def test_gradient_of_a_scan(on_iree):
    def loss(w):
        carry, _ = lax.scan(lambda c, v: (jnp.tanh(c * w + v), None), np.float32(0), X / 6)
        return carry

    found = plugjax.jit(plugjax.grad(loss))(np.float32(0.5))
    with plugjax.default_device("numpy"):
        np.testing.assert_allclose(found, plugjax.grad(loss)(np.float32(0.5)), rtol=1e-5)


def test_results_that_are_arguments_constants_and_one_another(on_device):
    empty = np.zeros((0, 2), np.float32)
    f = plugjax.jit(lambda x, e: (x, x, np.float32(7), e, jnp.concatenate([e, e]), x + 1))
    a, b, c, d, e, y = f(X, empty)
    for found, expected in ((a, X), (b, X), (c, 7), (d, empty), (e, empty), (y, X + 1)):
        np.testing.assert_array_equal(found, expected)


@pytest.fixture
def host_only():
    """A primitive with a kernel and no lowering."""
    rules = RuleSet(__name__)
    primitive = Primitive("host_only")
    calls = []

    @rules.define(abstract_eval, primitive)
    def _aval(x):
        return x

    @rules.define(impl, primitive)
    def _kernel(x):
        calls.append(threading.get_ident())
        return np.asarray(x) * 2

    class Plugin:
        @hookimpl
        def plugjax_rules(self):
            return [rules]

    with registry.use(registry.active().extended(Plugin())):
        yield primitive, calls


def test_call_to_python_in_a_loop(host_only, on_device):
    primitive, calls = host_only
    with pytest.warns(plugjax.errors.FallbackWarning, match="host_only"):
        found = plugjax.jit(lambda x: lax.fori_loop(0, 5, lambda i, x: primitive.bind(x), x))(X)
    np.testing.assert_array_equal(found, X * 32)
    assert len(calls) == 5


def test_donated_memory_of_the_host_may_be_written_as_a_whole():
    """Whether a host's array becomes a buffer depends on where it happens to lie: hence many."""
    with plugjax.default_device("iree"):
        swap = plugjax.jit(lambda a, b: (b, a), donate_argnums=(0, 1))
        for size in range(3, 15):
            a, b = (jnp.asarray(np.full(size, v, np.float32)) + 0 for v in (1, 2))
            np.testing.assert_array_equal(swap(a, b), np.repeat([[2.0], [1.0]], size, axis=1))


def test_donated_argument_is_gone_and_reused(on_device):
    x = jnp.asarray(X) + 1
    found = plugjax.jit(lambda x: x * 2, donate_argnums=0)(x)
    np.testing.assert_array_equal(found, (X + 1) * 2)
    assert x.is_deleted()


# What compiled code gives its operand's memory for, as nothing is computed.
IDLE = {
    "itself": lambda x: x,
    "two shapes": lambda x: x.T.T,
    "sum": lambda x: jnp.sum(x, 1),
    "maximum": lambda x: jnp.max(x, 1),
    "sort": lambda x: lax.sort(x, dimension=1),
    "cumulative sum": lambda x: lax.cumsum(x, 1),
    "windows": lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 1), (1, 1), "VALID"),
    "rows": lambda x: x[np.arange(3)],
    "parts": lambda x: lax.split(x, (3,), 0)[0],
    "the largest": lambda x: lax.top_k(x, 1)[0],
    "power": lambda x: lax.integer_pow(x, 1),
    "product": lambda x: x @ np.ones((1, 1), np.float32),
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", IDLE)
def test_results_have_memory_of_their_own(on_iree, name):
    """Otherwise a later call that the result is donated to writes over the argument."""
    x = plugjax.jit(lambda: jnp.full((3, 1), 3.0))()
    y = plugjax.jit(IDLE[name])(x)
    plugjax.jit(lambda y: y * 0 + 5, donate_argnums=0)(y)
    np.testing.assert_array_equal(x, np.full((3, 1), 3.0))


def test_eager_operations_load_neither_jaxlib_nor_the_compiler():
    program = """
        import sys
        import numpy as np, plugjax, plugjax.numpy as jnp
        with plugjax.default_device("iree"):
            x = plugjax.device_put(np.arange(4.0, dtype=np.float32), plugjax.devices("iree")[0])
            print(float((jnp.sin(x) + x)[0]), x.device)
        heavy = ("jaxlib", "iree.compiler", "plugjax.stablehlo.", "plugjax_iree.compile", "plugjax_iree.lowering")
        print([name for name in sys.modules if name.startswith(heavy) and not name.endswith(".plugin")])
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0.0 iree:local:0", "[]"]


DONATING = {
    "swap": lambda a, b: (b, a),
    "swap and change": lambda a, b: (b, jnp.sin(a)),
    "leapfrog": lambda a, b: (b, a + b),
    "reversed": lambda a, b: (a[::-1] + b, b * 2),
    "product": lambda a, b: (a - jnp.outer(a, b) @ a, b),
    "update": lambda a, b: (a.at[:2].set(b[:2]), b + a),
    "part of itself": lambda a, b: (a.at[1:].set(a[:-1]), b),
}


@pytest.mark.parametrize("name", DONATING)
def test_donated_arguments_are_read_before_they_are_written(on_iree, name):
    f = DONATING[name]
    a, b = np.arange(1, 5, dtype=np.float32), np.full(4, 0.5, np.float32)
    expected = plugjax.jit(f)(a, b)
    found = plugjax.jit(f, donate_argnums=(0, 1))(jnp.asarray(a) + 0, jnp.asarray(b) + 0)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6)


def test_memory_of_weights_and_momenta_is_used_again():
    def step(w, m, x):
        gradient = plugjax.grad(lambda w: (jnp.tanh(jnp.tanh(x @ w) @ w) ** 2).sum())(w)
        m = m * 0.9 + gradient
        return w - 0.1 * m, m

    with plugjax.default_device("iree"):
        x = np.ones((3, 3), np.float32)
        text = plugjax.jit(step, donate_argnums=(0, 1)).lower(x, x, x).as_text()
    assert text.count("tf.aliasing_output") == 2


def test_calls_from_threads(on_iree):
    f = plugjax.jit(lambda x, y: jnp.sort(x * y)[::-1])
    f(X, X)
    found = {}

    def work(seed):
        scale = np.float32(seed)
        for _ in range(50):
            found[seed] = np.asarray(f(X, scale * X))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed, y in found.items():
        np.testing.assert_array_equal(y, seed * (X * X)[::-1])


def test_module_that_does_not_compile_is_a_runtime_error(on_iree):
    refused = plugjax.jit(lambda: jnp.zeros((3, 3), np.complex128))
    with (
        plugjax.enable_x64(True),
        plugjax.config.override("fallback", "error"),
        pytest.raises(JaxRuntimeError, match="IREE could not compile"),
    ):
        refused()


PROGRAM = """
    import numpy as np, plugjax, plugjax.numpy as jnp
    from plugjax_iree.compile import program
    compiled = []
    original = program.compile_stablehlo
    program.compile_stablehlo = lambda *a, **k: compiled.append(1) or original(*a, **k)
    with plugjax.default_device("iree"):
        x = np.arange(200, dtype=np.float32)
        y = plugjax.jit(lambda x: jnp.sort(jnp.sin(x)))(x)
        print(len(compiled), float(y[0]))
"""


def test_second_process_finds_the_module(tmp_path):
    """Also one that calls Python, as a long sort does."""
    environment = {**os.environ, "PLUGJAX_CACHE_DIR": str(tmp_path)}
    lines = [
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROGRAM)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert [count for count, _ in lines] == ["1", "0"]
    assert lines[0][1] == lines[1][1]


def test_what_fails_while_it_runs_is_a_runtime_error_with_its_status(on_device):
    more_than_there_is = plugjax.jit(lambda x: jnp.zeros(1 << 44) + x)
    with pytest.raises(JaxRuntimeError, match=r"^RESOURCE_EXHAUSTED: "):
        more_than_there_is(1.0)


def test_a_device_that_the_driver_lost_is_named_so():
    """No device is lost at will: this is what IREE says of one."""
    error = RuntimeError(
        "Error invoking function: queue.c:2867: DATA_LOSS; [vkSignalSemaphore] VK_ERROR_DEVICE_LOST; while invoking"
    )
    module = object.__new__(LoadedModule)
    with pytest.raises(
        JaxRuntimeError, match=r"^DATA_LOSS: The driver has lost .* Start the process again"
    ):
        module.raise_original(error)


@pytest.fixture
def asked(monkeypatch):
    """For each program that the compiler gets, whether it verifies each pass; no module is found in the cache."""
    found = []

    def compile_in_helper(text, flags, options, process_flags):
        found.append(options["each_pass"])
        return real(text, flags, options, process_flags)

    real = process.compile_in_helper
    monkeypatch.setattr(process, "compile_in_helper", compile_in_helper)
    with plugjax.config.override("enable_compilation_cache", False):
        yield found


def by_the_factor(x):
    return x * 2.75 - 1


@pytest.mark.parametrize(("verify", "each_pass"), [("off", True), ("first", False), (None, False)])
def test_the_compiler_verifies_each_pass_unless_results_are_compared(
    verify, each_pass, on_iree, asked
):
    with plugjax.config.override("verify", verify):
        np.testing.assert_array_equal(plugjax.jit(by_the_factor)(X), by_the_factor(X))
    assert asked == [each_pass]


def test_the_compiler_verifies_each_pass_of_modules_for_elsewhere(on_iree, asked):
    IreeExporter().compile(plugjax.jit(by_the_factor).lower(X).as_text(), "host")
    compile_ahead(plugjax.make_jaxpr(by_the_factor)(X), "local", "cpu", "host", {})
    assert asked == [True, True]


def test_text_of_a_program_after_a_phase_of_the_compiler(on_iree):
    lowered = plugjax.jit(lambda x: jnp.sum(jnp.tanh(x) * 2)).lower(np.ones(64, np.float32))
    compiled = lowered.compile({"phase": "flow"})
    text = compiled.as_text()
    assert "flow.executable private @main_dispatch_0" in text
    assert '/tanh"(' in text
    np.testing.assert_allclose(compiled(np.ones(64, np.float32)), 128 * np.tanh(1), rtol=1e-6)
    with pytest.raises(RuntimeError, match="unrecognized compile-to phase name: nonsense"):
        lowered.compile({"phase": "nonsense"}).as_text()


def test_text_of_a_program_for_a_device_that_is_described():
    target = CompileTarget("vulkan", "llvmpipe")
    lowered = lower_program(plugjax.make_jaxpr(by_the_factor)(X), "gpu", {"debug_info": True})
    text = target.declared(lowered.as_text(generic=True, debug_info=True))
    flow = compile_stablehlo(text, target, phase="flow").decode()
    assert 'arch = "llvmpipe"' in flow
    assert '/mul"(' in flow


def test_memory_waits_for_a_result_of_its_size_until_caches_are_cleared():
    program = """if True:
        import numpy as np, plugjax, plugjax.numpy as jnp
        from plugjax_iree.runtime import open_device
        f = plugjax.jit(lambda x: x * 2)
        x = jnp.ones(1 << 20)
        allocator = open_device("local-sync").hal.allocator
        in_use = lambda: allocator.statistics["device_bytes_allocated"] - allocator.statistics["device_bytes_freed"]
        f(x)
        plugjax.clear_caches()
        before = in_use()
        one, other = f(x), f(x)
        print(in_use() - before, np.asarray(one).ctypes.data != np.asarray(other).ctypes.data)
        del one
        third = f(x)
        print(in_use() - before, float(third.sum() + other.sum()))
        del other, third
        print(in_use() - before)
        plugjax.clear_caches()
        print(in_use() - before)
        large = [f(jnp.ones(30 << 20)) for _ in range(3)]
        del large, x
        plugjax.block_until_ready(f(jnp.ones(4)))
        print(in_use() < 256 << 20)
    """
    environment = {**os.environ, "PLUGJAX_BACKEND": "iree"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)  # fmt: skip
    size = 4 << 20
    assert run.stdout.splitlines() == [f"{2 * size} True", f"{2 * size} {float(1 << 22)}", f"{2 * size}", "0", "True"]  # fmt: skip


@pytest.mark.parametrize("device", ["iree", "vulkan"])
@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2", "float4_e2m1fn"])
def test_numbers_of_less_than_a_byte(request, device, dtype):
    """IREE has no buffers of them, so the host runs the programs that take or give them, and says so."""
    if device == "vulkan":
        request.getfixturevalue("vulkan")
    with plugjax.default_device(device) if device == "iree" else nullcontext():
        x = jnp.array([1, 0, 1, -2 if dtype != "uint4" else 7], dtype)
        double = plugjax.jit(lambda x: x + x)
        with pytest.warns(FallbackWarning, match=f"no buffers of dtype {dtype}"):
            found = double(x)
        assert found.dtype == dtype
        assert found.device == jnp.zeros(1).device
        expected = (np.asarray(x).astype(np.float32) * 2).astype(dtype)
        np.testing.assert_array_equal(np.asarray(found), expected)
        within = plugjax.jit(lambda x: (x.astype(dtype) + x.astype(dtype)).astype(np.float32))
        np.testing.assert_array_equal(within(np.ones(4, np.float32)), np.ones(4, dtype) + np.ones(4, dtype))  # fmt: skip
