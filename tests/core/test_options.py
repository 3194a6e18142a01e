"""Options of the configuration that plugins declare."""

import os
import subprocess
import sys
import types

import pytest

import plugjax
from plugjax.extend import registry
from plugjax.extend.core import Option, boolean
from plugjax.extend.rules import hookimpl


def plugin(*options):
    hook = hookimpl(lambda: list(options))
    return types.SimpleNamespace(__name__="options", plugjax_options=hook)


def test_an_option_of_a_plugin_is_set_and_overridden_like_any_other():
    option = Option("test_depth", 3, int, help="how deep")
    with registry.use(registry.active().extended(plugin(option))):
        assert plugjax.config.jax_test_depth == 3
        with plugjax.config.override("test_depth", 5):
            assert plugjax.config.test_depth == 5
        plugjax.config.update("jax_test_depth", 4)
        assert plugjax.config.read("test_depth") == 4


def test_an_option_in_the_key_changes_the_fingerprint():
    option = Option("test_in_key", False, boolean, in_key=True)
    with registry.use(registry.active().extended(plugin(option))):
        before = plugjax.config.fingerprint
        with plugjax.config.override("test_in_key", True):
            assert plugjax.config.fingerprint is not before
            assert plugjax.config.fingerprint.options["test_in_key"] is True
        assert plugjax.config.fingerprint is before


def test_an_option_observes_while_it_has_the_value():
    option = Option("test_mode", "quiet", observes={"loud": "operators"})
    with registry.use(registry.active().extended(plugin(option))):
        assert not plugjax.config.observes("operators")
        with plugjax.config.override("test_mode", "loud"):
            assert plugjax.config.observes("operators")
        assert not plugjax.config.observes("operators")


def test_the_environment_sets_an_option_of_a_plugin(monkeypatch):
    monkeypatch.setenv("PLUGJAX_TEST_WIDTH", "7")
    with registry.use(registry.active().extended(plugin(Option("test_width", 1, int)))):
        assert plugjax.config.test_width == 7


def test_a_value_of_the_environment_that_an_option_refuses_is_named(monkeypatch):
    monkeypatch.setenv("PLUGJAX_TEST_COLOUR", "mauve")
    option = Option("test_colour", "red", choices=("red", "blue"))
    extended = registry.active().extended(plugin(option))
    with pytest.raises(ValueError, match=r"PLUGJAX_TEST_COLOUR.*'red', 'blue'"):
        extended.declare_options()


def test_an_unknown_option_names_the_known_ones():
    with pytest.raises(AttributeError, match=r"no_such_option.*enable_x64"):
        plugjax.config.update("no_such_option", 1)


@pytest.mark.spread(3)
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("jax_debug_key_reuse", True),
        ("jax_threefry_partitionable", False),
        ("jax_default_matmul_precision", "float32"),
        ("jax_numpy_rank_promotion", "raise"),
        ("jax_debug_nans", True),
        ("verify", "off"),
    ],
)
def test_options_of_plugins_can_be_set_before_anything_else(option, value):
    code = f"import plugjax; plugjax.config.update({option!r}, {value!r}); print(plugjax.config.{option} == {value!r})"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert run.stdout.strip() == "True"


def test_an_option_of_a_blocked_plugin_names_the_plugin():
    code = "import plugjax; plugjax.config.update('jax_debug_nans', True)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PLUGJAX_NO_PLUGINS": "debug"},
    )  # fmt: skip
    assert "debug_nans" in run.stderr
    assert "Blocked by PLUGJAX_PLUGINS or PLUGJAX_NO_PLUGINS: debug" in run.stderr


def test_an_option_of_a_plugin_is_read_before_anything_else():
    code = (
        "import plugjax; print(plugjax.config.read('default_prng_impl'), plugjax.random.PRNGKey(0))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert run.stdout.strip() == "threefry2x32 [0 0]"
