"""Bad input and faults from outside: devices that are not there, forks, threads, an interpreter that ends. Each ends in an error or a result, never in a hang."""

import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.errors import JaxRuntimeError
from plugjax.execution.turns import turn

BACKENDS = ["numpy", "xla", "iree"]
on_each = pytest.mark.parametrize("name", BACKENDS)
PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
import plugjax
import plugjax.numpy as jnp
"""


def python(program, seconds=180, **environment):
    """What a process prints; it must end by itself with status 0 and say nothing on standard error."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + textwrap.dedent(program)],
        env={**os.environ, **environment},
        capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("device", ["numpy:3", "xla:cuda:0", "xla:cpu:7", "iree:vulkan:7", "iree:local:x"])  # fmt: skip
def test_a_device_that_is_not_there_is_named_with_those_that_are(device):
    backend = device.partition(":")[0]
    there = str(plugjax.devices(backend)[0])

    def default():
        with plugjax.default_device(device):
            return jnp.ones(3) + 1

    uses = [
        lambda: plugjax.device_put(np.ones(3), device),
        lambda: plugjax.jit(lambda x: x + 1, device=device)(1.0),
        default,
    ]
    for use in uses:
        with pytest.raises(ValueError, match=f"'{device}' does not exist") as caught:
            use()
        assert there in str(caught.value)
    assert float(jnp.ones(3).sum()) == 3


def test_a_backend_that_is_not_there_is_named_with_those_that_are():
    for use in (lambda: plugjax.devices("nosuch"), lambda: plugjax.device_put(1.0, "nosuch:cpu:0")):
        with pytest.raises(RuntimeError, match=r"Unknown backend 'nosuch'.*iree, numpy, xla"):
            use()
    done = subprocess.run(
        [sys.executable, "-c", "import plugjax.numpy as jnp; jnp.ones(3) + 1"],
        env={**os.environ, "PLUGJAX_BACKEND": "nosuch"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Unknown backend 'nosuch'" in done.stderr


# Half a tebibyte and more: no machine that runs tests has so much to give.
SIDE = 1 << 20


@on_each
def test_out_of_memory_names_shape_and_bytes_and_the_process_lives_on(name):
    columns, row = np.ones((SIDE, 1), np.float32), np.ones((1, SIDE), np.float32)
    with plugjax.default_device(name):
        with pytest.raises(JaxRuntimeError, match="RESOURCE_EXHAUSTED") as caught:
            plugjax.block_until_ready(plugjax.jit(lambda x, y: x * y)(columns, row))
        said = str(caught.value).replace(" ", "").replace(",", "")
        assert "10485761048576" in said
        assert "4.00TiB" in said or "4398046511104bytes" in said
        assert float((jnp.ones(3) * 2).sum()) == 6


@pytest.mark.parametrize("driver", ["/nowhere/icd.json", ""])
def test_a_vulkan_driver_that_is_gone_is_no_device(driver):
    out = python("""
    kinds = {device.kind for device in plugjax.devices("iree")}
    assert "vulkan" not in kinds, kinds
    try:
        plugjax.device_put(np.ones(3), "iree:vulkan:0")
    except ValueError as error:
        print(error)
    assert float(plugjax.jit(lambda x: x.sum(), device="iree:local:0")(np.ones(3))) == 3
    """, VK_ICD_FILENAMES=driver or os.devnull, VK_DRIVER_FILES=driver or os.devnull)  # fmt: skip
    assert "'iree:vulkan:0' does not exist. Devices of iree: iree:local:0" in out


def test_a_driver_that_fails_after_its_devices_were_listed_is_named(monkeypatch):
    devices = pytest.importorskip("plugjax_iree.runtime.device")

    class Gone:
        def create_device_by_uri(self, uri, allocators):
            raise RuntimeError("device.c:1: UNAVAILABLE; the driver is gone")

    monkeypatch.setattr(devices, "_driver", lambda name: Gone())
    with pytest.raises(RuntimeError, match="cannot open device 'hip://7': the driver is gone"):
        devices.open_device("hip://7")


@on_each
def test_a_forked_child_computes_or_is_refused(name):
    """What runs on the host's memory computes in the child; a pool of threads is refused by name."""
    out = python(f"""
    plugjax.config.update("default_device", {name!r})
    step = plugjax.jit(lambda x: jnp.sin(x) @ x.T)
    x = jnp.asarray(np.arange(12.0).reshape(3, 4))
    before = np.asarray(step(x))
    child = os.fork()
    if child == 0:
        signal.alarm(100)
        assert np.array_equal(np.asarray(step(x)), before)
        y = plugjax.jit(lambda x: jnp.cos(x) * 3)(x)
        np.testing.assert_allclose(y, np.cos(np.asarray(x)) * 3, rtol=1e-5)
        assert float((x + 1).sum()) == 78
        for device in plugjax.devices({name!r})[1:]:
            try:
                plugjax.device_put(x, device) + 1
            except RuntimeError as error:
                assert "fork" in str(error), error
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(np.asarray(step(x)), before)
    print("done")
    """)
    assert out == "done\n"


@on_each
def test_threads_that_call_a_function_first_compile_it_once_for_each_shape(name):
    traced, start = [], threading.Barrier(12)

    def wave(x):
        traced.append(x.shape)
        # Long enough for all threads to come.
        threading.Event().wait(0.05)
        return jnp.sin(x) * 2 + x.sum()

    jitted = plugjax.jit(wave)

    def work(i):
        x = np.full((1 + i % 3, 4), i, np.float32)
        with plugjax.default_device(name):
            start.wait()
            np.testing.assert_allclose(jitted(x), np.sin(x) * 2 + x.sum(), rtol=1e-5)

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(work, range(12)))
    assert sorted(traced) == [(1, 4), (2, 4), (3, 4)]


def test_each_thread_gets_the_error_of_its_own_first_call():
    def fails(x):
        raise LookupError(threading.get_ident())

    jitted, start = plugjax.jit(fails), threading.Barrier(4)

    def work(_):
        start.wait()
        with pytest.raises(LookupError) as caught:
            jitted(1.0)
        return caught.value.args == (threading.get_ident(),)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_threads_that_wait_for_each_other_do_not_hang():
    both = threading.Barrier(2)

    def work(mine, other):
        with turn(mine):
            both.wait()
            with turn(other), turn(mine):
                return True

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(work, "a", "b"), pool.submit(work, "b", "a")]
        assert all(each.result(timeout=30) for each in found)


@on_each
def test_the_interpreter_ends_with_programs_in_flight(name):
    python(f"""
    plugjax.config.update("default_device", {name!r})
    step = plugjax.jit(lambda x: x @ x / 500)
    x = jnp.ones((500, 500))
    for _ in range(20):
        x = step(x)
    """)


@on_each
def test_the_interpreter_ends_while_a_thread_runs_a_callback(name):
    python(f"""
    plugjax.config.update("default_device", {name!r})
    entered = threading.Event()
    def slow(x):
        entered.set()
        time.sleep(1)
        return x
    call = plugjax.jit(lambda x: plugjax.pure_callback(slow, plugjax.ShapeDtypeStruct((3,), np.float32), x) + 1)
    threading.Thread(target=lambda: call(np.ones(3, np.float32)), daemon=True).start()
    assert entered.wait(100)
    """)


@on_each
def test_a_callback_that_never_returns_does_not_keep_the_process(name):
    python(f"""
    import importlib
    importlib.import_module("plugjax.execution.ending")._SECONDS = 1.0
    plugjax.config.update("default_device", {name!r})
    entered = threading.Event()
    def stuck(x):
        entered.set()
        threading.Event().wait()
    call = plugjax.jit(lambda x: plugjax.pure_callback(stuck, plugjax.ShapeDtypeStruct((3,), np.float32), x) + 1)
    threading.Thread(target=lambda: call(np.ones(3, np.float32)), daemon=True).start()
    assert entered.wait(100)
    if {name!r} == "iree":
        importlib.import_module("plugjax_iree.runtime.device")._SECONDS = 1.0
    """)


@on_each
def test_the_interpreter_ends_while_a_program_is_compiled_in_the_background(name):
    python(f"""
    plugjax.config.update("default_device", {name!r})
    plugjax.config.update("enable_compilation_cache", False)
    def chain(x):
        for i in range(150):
            x = jnp.cumsum(jnp.sin(x)) * i
        return x
    plugjax.jit(chain, tiered=True)(jnp.ones(50))
    """)


@on_each
def test_the_interpreter_ends_while_a_daemon_thread_compiles(name):
    python(f"""
    plugjax.config.update("default_device", {name!r})
    plugjax.config.update("enable_compilation_cache", False)
    begun = threading.Event()
    def chain(x):
        begun.set()
        for i in range(150):
            x = jnp.cumsum(jnp.sin(x)) * i
        return x
    threading.Thread(target=plugjax.jit(chain), args=[np.ones(50, np.float32)], daemon=True).start()
    assert begun.wait(100)
    """)


@on_each
def test_the_interpreter_ends_while_a_daemon_thread_computes(name):
    python(f"""
    plugjax.config.update("default_device", {name!r})
    begun = threading.Event()
    product = plugjax.jit(lambda x: plugjax.lax.fori_loop(0, 100, lambda i, y: y @ x, x))
    product(np.eye(300, dtype=np.float32)).block_until_ready()
    def work():
        begun.set()
        product(np.eye(300, dtype=np.float32)).block_until_ready()
    threading.Thread(target=work, daemon=True).start()
    assert begun.wait(100)
    """)
