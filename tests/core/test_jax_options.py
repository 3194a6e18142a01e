"""Options of JAX's configuration: known by name, with JAX's defaults; they act, or say why not."""

import enum
import os
import subprocess
import sys
import warnings

import jax
import jax.numpy
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.extend.core import config
from plugjax.options.without_effect import OPTIONS, WithoutEffect

# The environment of the tests chooses these, or they have a default of their own.
CHOSEN = {"jax_platforms", "jax_default_device", "jax_explicit_x64_dtypes"}


@pytest.mark.parametrize("name", sorted(jax.config.values))
def test_known_with_the_default_of_jax(name):
    option = config.option(name)
    assert option.help
    if name not in CHOSEN:
        expected = jax.config._value_holders[name].value
        assert option.default == (expected.value if isinstance(expected, enum.Enum) else expected)


def test_an_option_without_effect_says_why():
    name = "distributed_debug"
    with pytest.warns(
        UserWarning, match="jax_distributed_debug has no effect: processes are joined by"
    ):
        plugjax.config.update(f"jax_{name}", True)
    with warnings.catch_warnings(action="error"):
        plugjax.config.update(f"jax_{name}", False)
        with plugjax.transfer_guard("allow"):
            assert plugjax.config.jax_transfer_guard == "allow"
    assert all(isinstance(option, WithoutEffect) for option in OPTIONS)


@pytest.mark.parametrize(
    ("name", "value"), [("jax_transfer_guard", "nope"), ("jax_optimization_level", "O9")]
)
def test_values_are_checked(name, value):
    for m in (plugjax, jax):
        with pytest.raises((ValueError, TypeError)):
            m.config.update(name, value)


def test_no_tracing():
    for m in (plugjax, jax):
        f = m.jit(lambda x: x + 1)
        f(1)
        with m.no_tracing():
            y = f(2)
            with pytest.raises(RuntimeError, match=r"re-tracing function .* 'no_tracing' is set"):
                f(2.5)
        assert (y, f(2.5)) == (3, 3.5)


def test_no_execution(on_backend):
    x = jnp.ones(2)
    f = plugjax.jit(lambda x: x * 2)
    f(x)
    for run in (lambda: x + 1, lambda: f(x), lambda: jnp.sin(x)):
        with (
            plugjax.no_execution(),
            pytest.raises(RuntimeError, match="no_execution config option is set"),
        ):
            run()
    np.testing.assert_array_equal(f(x), [2, 2])
    y = jax.numpy.ones(2)
    with (
        jax.no_execution(),
        pytest.raises(RuntimeError, match="no_execution config option is set"),
    ):
        y + 1


def test_user_contexts_are_part_of_the_key():
    for m in (plugjax, jax):
        context, seen = m.make_user_context(default_value=1), []
        f = m.jit(lambda x, c=context, s=seen: (s.append(c.value), x)[1])
        for value in (2, 3, 2):
            with context(value):
                f(1)
                f(1)
        f(1)
        assert seen == [2, 3, 1]


def test_representation_shows_values():
    with plugjax.enable_x64(True):
        assert "jax_enable_x64=True" in repr(plugjax.config)
    assert plugjax.config.values["jax_enable_x64"] is False


SCRIPT = """
import plugjax, plugjax.numpy as jnp
print(jnp.ones(1).dtype, plugjax.config.jax_debug_nans, plugjax.devices()[0].backend.name)
"""


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"JAX_ENABLE_X64": "1", "JAX_DEBUG_NANS": "true", "JAX_PLATFORMS": "numpy"}, ["float64", "True", "numpy"]),
        ({"JAX_ENABLE_X64": "1", "PLUGJAX_ENABLE_X64": "0", "JAX_PLATFORMS": "cpu"}, ["float32", "False", "xla"]),
    ],
)  # fmt: skip
def test_variables_of_jax_act_where_ours_are_not_set(variables, expected):
    clean = {k: v for k, v in os.environ.items() if k not in ("PLUGJAX_BACKEND", "JAX_PLATFORMS")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**clean, **variables}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == expected


def test_folder_of_the_cache(tmp_path, monkeypatch):
    from plugjax.experimental.compilation_cache import compilation_cache
    from plugjax.extend.execution import default_cache

    monkeypatch.delenv("PLUGJAX_CACHE_DIR", raising=False)
    with config.override("compilation_cache_dir", str(tmp_path / "programs")):
        first = default_cache()
        assert first is default_cache()
        compilation_cache.reset_cache()
        assert first is not default_cache()
        plugjax.jit(lambda x: x * 3 + 1, device="xla")(np.float32(2))
    assert list((tmp_path / "programs").iterdir())


def test_the_older_name_of_an_option_can_be_read():
    for value in (False, True):
        with plugjax.enable_x64(value), jax.enable_x64(value):
            assert plugjax.config.x64_enabled is jax.config.x64_enabled is value
