"""explain_cache_misses: one case per reason."""

import functools
import logging
import subprocess
import sys

import pytest

import plugjax
import plugjax.numpy as jnp

NAME = "plugjax.debug.cache_misses"


def _function():
    @functools.partial(plugjax.jit, static_argnums=1)
    def scaled(p, n, scale=1.0):
        return p["w"] * n * scale

    scaled({"w": jnp.ones(3)}, 2)
    return scaled


CASES = {
    "shape": (lambda f: f({"w": jnp.ones(4)}, 2), "at p['w']: now float32[4], before float32[3]"),
    "dtype": (
        lambda f: f({"w": jnp.ones(3, int)}, 2),
        "at p['w']: now int32[3], before float32[3]",
    ),
    "static": (lambda f: f({"w": jnp.ones(3)}, 3), "at position 1: now 3, before 2"),
    "structure": (lambda f: f({"w": jnp.ones(3), "b": 1}, 2), "p['b'] was not there before"),
    "keyword": (lambda f: f({"w": jnp.ones(3)}, 2, scale=2.0), "scale was not there before"),
    "device": (
        lambda f: f({"w": plugjax.device_put(jnp.ones(3), "xla")}, 2),
        "different device: now xla:cpu:0 (committed), before numpy:0",
    ),
}


@pytest.fixture
def messages(caplog):
    def run(function, *args):
        caplog.clear()
        with caplog.at_level(logging.WARNING, NAME), plugjax.explain_cache_misses(True):
            function(*args)
        return "\n".join(r.getMessage() for r in caplog.records if r.name == NAME)

    return run


@pytest.mark.parametrize("case", CASES)
def test_says_what_differs(case, messages):
    call, words = CASES[case]
    found = messages(call, _function())
    assert words in found
    assert f"{__file__}:" in found


def test_weak_type(messages):
    f = plugjax.jit(lambda x: x)
    f(1.0)
    found = messages(f, jnp.float32(1))
    assert "now float32[]{weak_type=False}, before float32[]{weak_type=True}" in found


def test_configuration(messages):
    f = _function()
    with plugjax.enable_x64(True):
        found = messages(lambda: f({"w": jnp.ones(3, "float32")}, 2))
    assert "jax_enable_x64: now True, before False" in found


def test_named_axes(messages):
    f = plugjax.jit(lambda x: x)
    f(1.0)
    found = messages(plugjax.vmap(lambda x: f(x[0]), axis_name="rows"), jnp.ones((3, 1)))
    assert "different named axes of enclosing vmaps:" in found
    assert "now rows:3, before none" in found


def test_the_closest_key_is_reported(messages):
    f = plugjax.jit(lambda x, y: x + y)
    f(jnp.ones(3), jnp.ones(3))
    f(jnp.ones(4), jnp.ones(4))
    found = messages(f, jnp.ones(4), jnp.ones(1))
    assert "at y: now float32[1], before float32[4]" in found
    assert "at x" not in found


def test_a_warm_call_says_nothing(messages):
    f = _function()
    assert messages(f, {"w": jnp.ones(3)}, 2) == ""


def test_a_function_made_in_a_loop(messages):
    def again():
        for _ in range(2):
            plugjax.jit(lambda x: x)(1)

    found = messages(again)
    assert found.count("a function not seen before") == 2
    assert found.count("another function was defined on this line before") == 1


def test_the_first_call_in_a_process_traces_once():
    """It discovers the plugins before it looks anything up."""
    program = "import plugjax\ntraces = []\nf = plugjax.jit(lambda x: traces.append(x) or x + 1)\n{}\nf(1), f(1)\nprint(len(traces))"
    for first in ("f(1)", "f.lower(1).compile()"):
        command = [sys.executable, "-c", program.format(first)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
        assert done.stdout == "1\n"
