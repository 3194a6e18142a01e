"""Programs that NumPy computes until a backend has compiled them."""

import os
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.core.backend import get_backend
from plugjax.core.config import config
from plugjax.core.errors import FallbackWarning, JaxRuntimeError
from plugjax.execution.jobs import Job


@pytest.fixture(params=["xla", "iree"])
def slow(request, monkeypatch):
    """A backend whose compiler waits for an event; gives the event, and the names of what it compiled."""
    backend = get_backend(request.param)
    compile_, release, names = type(backend).compile, threading.Event(), []

    def waiting(self, jaxpr, device, options):
        assert release.wait(60)
        names.append(options["name"])
        return compile_(self, jaxpr, device, options)

    monkeypatch.setattr(type(backend), "compile", waiting)
    with plugjax.default_device(request.param):
        yield release, names
        release.set()


def until(condition):
    """Wait for something that another thread does."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_first_results_come_before_the_program_is_compiled(slow):
    release, names = slow

    @plugjax.jit(tiered=True)
    def scaled(x, n):
        return {"y": jnp.sin(x) * n, "x": x}

    x = plugjax.device_put(np.arange(4, dtype="float32"), jnp.zeros(1).device)
    first = [scaled(x, n) for n in (2, 2, jnp.float32(2))]
    assert names == []
    for found in first:
        assert found["y"].device is x.device
        np.testing.assert_allclose(found["y"], 2 * np.sin(np.arange(4)), rtol=1e-6)
    release.set()
    until(lambda: "scaled" in names)
    until(lambda: scaled(x, 2)["y"]._host is None)
    np.testing.assert_allclose(scaled(x, 2)["y"], first[0]["y"], rtol=1e-6)


def test_types_and_programs_are_those_of_the_compiled_function(slow):
    release, names = slow

    @plugjax.jit(tiered=True)
    def doubled(x):
        # The cotangent of a weakly typed number is weakly typed, which passes do not see.
        return plugjax.value_and_grad(lambda x: x * jnp.float32(2))(x)

    found = [doubled(2.0), doubled(3.0), doubled(jnp.float32(2)), doubled(jnp.float32(3))]
    assert names == []
    assert doubled._cache_size() == 2
    release.set()
    until(lambda: len(names) == 2)
    until(lambda: doubled(2.0)[0]._host is None)
    compiled = [doubled(2.0), doubled(3.0), doubled(jnp.float32(2)), doubled(jnp.float32(3))]
    assert doubled._cache_size() == 2
    for ours, theirs in zip(plugjax.tree.leaves(found), plugjax.tree.leaves(compiled), strict=True):
        assert ours.aval == theirs.aval


def test_loops_outside_of_jit(slow):
    release, names = slow

    def counted(n):
        return lax.fori_loop(0, n, lambda i, x: x + i, jnp.int32(0))

    with plugjax.config.override("tiered", "on"):
        found = [counted(jnp.int32(n)) for n in (3, 5)]
        assert names == []
        assert [int(x) for x in found] == [3, 10]
        release.set()
        until(lambda: names == ["scan", "scan"])
        assert int(counted(jnp.int32(7))) == 21


def test_branches_are_those_of_the_backend(slow):
    name = jnp.zeros(1).device.backend.name

    @plugjax.jit(tiered=True)
    def scaled(x):
        return lax.platform_dependent(x, default=lambda x: x * 2, **{name: lambda x: x * 3})

    _, names = slow
    np.testing.assert_array_equal(scaled(np.ones(3, np.float32)), np.full(3, 3))
    assert names == []


@pytest.mark.parametrize("slow", ["xla"], indirect=True)
def test_what_the_host_has_not_finished_is_given_up(slow):
    release, _ = slow

    @plugjax.jit(tiered=True)
    def count(n):
        return plugjax.lax.while_loop(lambda i: i < n, lambda i: i + 1, 0)

    # On the host this takes minutes.
    threading.Timer(0.3, release.set).start()
    assert count(20_000_000) == 20_000_000


def test_effects_and_donated_arguments_wait(slow):
    release, names = slow
    release.set()

    def shown(x):
        plugjax.debug.callback(lambda _: None, x)
        return x + 1

    plugjax.jit(shown, tiered=True)(jnp.ones(2))
    plugjax.jit(lambda x: x + 1, donate_argnums=0, tiered=True)(jnp.ones(2))
    assert names == ["shown", "<lambda>"]


def test_the_option(slow, monkeypatch):
    release, names = slow
    f = plugjax.jit(lambda x: jnp.cos(x) + 1)
    with config.override("tiered", "on"):
        assert f(0.0) == 2.0
    assert names == []
    backend = jnp.zeros(1).device.backend
    monkeypatch.setattr(type(backend), "patience", 1)
    words = r"NumPy computes '<lambda>' \(2 equations\) until"
    with config.override("tiered", "auto"), pytest.warns(FallbackWarning, match=words):
        assert f(0.0) == 2.0
    release.set()
    with (
        warnings.catch_warnings(),
        config.override("tiered", "auto"),
        config.override("fallback", "error"),
    ):
        warnings.simplefilter("error")
        assert f(0.0) == 2.0  # It is waited for.
    assert "<lambda>" in names


def test_a_program_that_cannot_be_compiled(monkeypatch):
    backend = get_backend("xla")

    def refuse(self, jaxpr, device, options):
        raise JaxRuntimeError("INTERNAL: no")

    monkeypatch.setattr(type(backend), "compile", refuse)
    f = plugjax.jit(lambda x: x * 3, device="xla", tiered=True)
    with pytest.raises(JaxRuntimeError, match="INTERNAL: no"):
        until(lambda: f(2.0) != 6.0)


def test_errors_of_the_users_code_arrive(slow):
    def fail(_):
        raise ZeroDivisionError("of the callback")

    f = plugjax.jit(
        lambda x: plugjax.pure_callback(fail, plugjax.ShapeDtypeStruct((), "float32"), x),
        tiered=True,
    )
    with pytest.raises(ZeroDivisionError, match="of the callback"):
        f(1.0)


PROGRAM = """
import plugjax as jax, plugjax.numpy as jnp, warnings
warnings.simplefilter("error")
def long(x):
    for i in range(60):
        x = jnp.sin(x) @ x + i
    return x
print(float(jax.jit(long, tiered=True)(jnp.ones((4, 4))).sum()) is not None)
"""


@pytest.mark.parametrize("name", ["xla", "iree"])
def test_the_interpreter_ends_while_something_is_compiled(name):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PLUGJAX_BACKEND": name, "PLUGJAX_ENABLE_COMPILATION_CACHE": "0"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_jobs():
    ended = threading.Event()
    assert Job(lambda: 3, "three", ended.set).result() == 3
    assert ended.wait(10)
    job = Job(lambda: 1 / 0, "fault")
    with pytest.raises(ZeroDivisionError):
        job.result()
    running = threading.Event()

    def endless():
        running.set()
        while True:
            time.sleep(0.001)

    job = Job(endless, "endless")
    assert running.wait(10)
    with pytest.raises(TimeoutError, match="no result after"):
        job.result(0.01)
    job.give_up()
    until(lambda: not job.is_running)
    assert not job.has_ended
