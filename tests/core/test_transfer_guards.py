"""Guards of transfers: which values they see, at which levels, compared with JAX where one device is enough."""

import logging
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as pnp
from plugjax.core.array import transfers
from plugjax.core.primitive import state

VALUES = np.ones(2, np.float32)


def _jitted(j):
    return j.jit(lambda a: a * 2)


# Functions of the library, of its numpy and of an array.
PROGRAMS = {
    "jit of NumPy": lambda j, np_, x: _jitted(j)(VALUES),
    "jit of a number": lambda j, np_, x: _jitted(j)(1.0),
    "jit of an array": lambda j, np_, x: _jitted(j)(x),
    "jit of both": lambda j, np_, x: j.jit(lambda a, b: a + b)(x, VALUES),
    "operator": lambda j, np_, x: x + VALUES,
    "operator of arrays": lambda j, np_, x: x * x,
    "lax function": lambda j, np_, x: j.lax.add(x, VALUES),
    "array of a list": lambda j, np_, x: np_.array([1, 2]),
    "asarray": lambda j, np_, x: np_.asarray(VALUES),
    "scalar type": lambda j, np_, x: np_.float32(1),
    "device_put": lambda j, np_, x: j.device_put(VALUES),
    "device_put of a number": lambda j, np_, x: j.device_put(1.0),
    "device_put of a tree": lambda j, np_, x: j.device_put({"a": VALUES, "b": [x]}),
    "device_put of an array": lambda j, np_, x: j.device_put(x),
    "device_get": lambda j, np_, x: j.device_get(x),
    "asarray of an array": lambda j, np_, x: np.asarray(x),
    "float": lambda j, np_, x: float(x[...].sum()),
    "function of an array": lambda j, np_, x: np_.sin(x).sum(),
    "key": lambda j, np_, x: j.random.key(0),
    "loop": lambda j, np_, x: j.lax.fori_loop(0, 3, lambda i, c: c + 1, 0),
}
LEVELS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")


def refused(guard, level, program, j, np_):
    x = np_.asarray(VALUES)
    with guard(level):
        try:
            program(j, np_, x)
        except j.errors.JaxRuntimeError as error:
            return "Disallowed" in str(error)
    return False


@pytest.mark.spread(2)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("direction", ["", "_host_to_device", "_device_to_host", "_device_to_device"])  # fmt: skip
def test_the_transfers_that_jax_refuses_are_refused(direction, level):
    found = {}
    for j, np_ in ((plugjax, pnp), (jax, jnp)):
        guard = getattr(j, f"transfer_guard{direction}")
        found[j] = [
            name for name, program in PROGRAMS.items() if refused(guard, level, program, j, np_)
        ]
    assert found[plugjax] == found[jax]
    assert bool(found[jax]) == ("disallow" in level and not direction.startswith("_device"))


def test_moves_between_devices_are_guarded():
    x = plugjax.device_put(VALUES, "numpy")
    uncommitted = pnp.asarray(VALUES)
    there = plugjax.device_put(VALUES, "xla")
    add = plugjax.jit(lambda a, b: a + b)
    with plugjax.transfer_guard_device_to_device("disallow"):
        for implicit in (lambda: uncommitted + there, lambda: add(uncommitted, there)):
            with pytest.raises(plugjax.errors.JaxRuntimeError, match="device-to-device transfer: float32\\[2\\] to xla"):  # fmt: skip
                implicit()
        moved = plugjax.device_put(x, "xla")
        assert moved.device == there.device
        assert (there + there).device == there.device
    with (
        plugjax.transfer_guard_device_to_device("disallow_explicit"),
        pytest.raises(plugjax.errors.JaxRuntimeError, match="device-to-device"),
    ):
        plugjax.device_put(x, "xla")
    with plugjax.transfer_guard_host_to_device("disallow_explicit"):
        assert plugjax.device_put(x, "xla").device == there.device


def test_reads_of_memory_that_the_host_does_not_see_are_guarded(monkeypatch):
    with plugjax.default_device("xla"):
        x = plugjax.jit(lambda a: a + 1)(VALUES)
        monkeypatch.setattr(x._placement, "host_visible", False)
        with plugjax.transfer_guard_device_to_host("disallow"):
            for implicit in (lambda: np.asarray(x), lambda: x.tolist(), lambda: repr(x)):
                with pytest.raises(plugjax.errors.JaxRuntimeError, match="device-to-host"):
                    implicit()
            assert plugjax.device_get(x).tolist() == [2.0, 2.0]
            x.copy_to_host_async()
        with (
            plugjax.transfer_guard("disallow_explicit"),
            pytest.raises(plugjax.errors.JaxRuntimeError, match="device-to-host"),
        ):
            plugjax.device_get(x)


@pytest.mark.parametrize(("level", "logged"), [("log", 1), ("log_explicit", 2), ("allow", 0)])
def test_transfers_are_logged(level, logged, caplog):
    with caplog.at_level(logging.WARNING), plugjax.transfer_guard(level):
        x = pnp.asarray(VALUES)
        plugjax.device_put(VALUES)
    assert x.tolist() == [1.0, 1.0]
    assert [r.getMessage() for r in caplog.records] == ["host-to-device transfer: float32[2]"] * logged  # fmt: skip


def test_the_guard_of_a_direction_comes_before_that_of_all():
    with plugjax.transfer_guard("disallow"):
        with plugjax.transfer_guard_host_to_device("allow"):
            pnp.asarray(VALUES)
        with pytest.raises(plugjax.errors.JaxRuntimeError):
            pnp.asarray(VALUES)
    with plugjax.transfer_guard_host_to_device("disallow"), plugjax.transfer_guard("allow"):
        pnp.asarray(VALUES)


def test_the_option_acts_and_other_threads_are_not_guarded():
    plugjax.config.update("jax_transfer_guard_host_to_device", "disallow")
    try:
        with pytest.raises(plugjax.errors.JaxRuntimeError):
            pnp.asarray(VALUES)
    finally:
        plugjax.config.update("jax_transfer_guard_host_to_device", None)
    found = []
    with plugjax.transfer_guard("disallow"):
        thread = threading.Thread(target=lambda: found.append(pnp.asarray(VALUES) + VALUES))
        thread.start()
        thread.join()
    assert found[0].tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="forbid"), plugjax.transfer_guard("forbid"):
        pass


def test_compiled_functions_are_not_traced_again_and_nothing_is_left_behind():
    traced = []
    f = plugjax.jit(lambda a: traced.append(1) or a + 1)
    x = pnp.asarray(VALUES)
    f(x)
    before = state.trace
    with plugjax.transfer_guard("disallow"):
        assert transfers
        assert state.trace is not before
        assert f(x).tolist() == [2.0, 2.0]
        assert plugjax.grad(lambda a: f(a).sum())(x).tolist() == [1.0, 1.0]
    assert len(traced) == 1
    assert state.trace is before
    assert transfers == {}
