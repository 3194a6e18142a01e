"""Eager operations without a host kernel: the host runs the first calls, and a backend compiles what comes often."""

import jax
import numpy as np
import pytest

import plugjax
from plugjax.core.backend import get_backend
from plugjax.core.config import config
from plugjax.execution import first_calls


@pytest.fixture(params=["xla", "iree"])
def compiled(request, monkeypatch):
    """The names of programs that the default backend compiles."""
    backend = get_backend(request.param)
    names = []
    compile_ = type(backend).compile

    def recorded(self, jaxpr, device, options):
        names.append(options["name"])
        return compile_(self, jaxpr, device, options)

    monkeypatch.setattr(type(backend), "compile", recorded)
    plugjax.clear_caches()
    with plugjax.default_device(request.param):
        yield names
    plugjax.clear_caches()


def drawn(library):
    """Numbers from keys, by operations on keys."""
    random = library.random
    keys = random.split(random.fold_in(random.key(3), 5), 4)
    return [random.normal(keys[1], (7,)), random.bits(keys.reshape(2, 2)[1, 0], (3, 2)), random.key_data(keys)]  # fmt: skip


def test_the_first_calls_run_on_the_host(compiled):
    for ours, theirs in zip(drawn(plugjax), drawn(jax), strict=True):
        assert ours.device is plugjax.numpy.zeros(1).device
        assert ours.device.backend.name != "numpy"
        np.testing.assert_array_equal(ours, theirs)
    assert compiled == []


def test_what_comes_often_is_compiled(compiled, monkeypatch):
    monkeypatch.setattr(first_calls, "_COMPILATION", 3 * (first_calls._CALL + 16))
    key = plugjax.random.key(3)
    found = [plugjax.random.bits(key, (7,)) for _ in range(5)]
    assert compiled == ["random_bits"]
    assert len({np.asarray(each).tobytes() for each in found}) == 1


def test_large_draws_are_compiled_at_once(compiled):
    key = plugjax.random.key(3)
    assert plugjax.random.bits(key, (first_calls._COMPILATION,)).shape == (
        first_calls._COMPILATION,
    )
    assert compiled == ["random_bits"]


@pytest.mark.parametrize(("mode", "expected"), [("compile", ["random_bits"]), ("host", [])])
def test_the_option_eager(compiled, monkeypatch, mode, expected):
    monkeypatch.setattr(first_calls, "_COMPILATION", 2 * (first_calls._CALL + 16))
    key = plugjax.random.key(3)
    with config.override("eager", mode):
        for _ in range(4):
            plugjax.random.bits(key, (7,))
    assert [name for name in compiled if name == "random_bits"] == expected
