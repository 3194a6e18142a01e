"""Choice of the backend: environment, device, with-block, committed arguments."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp

PROGRAM = """
import sys
import plugjax as jax, plugjax.numpy as jnp
x = jnp.arange(3.0)
y = jax.jit(lambda x: jnp.sin(x) * 2)(x)
print(x.device, y.device, float(y[1]), x.device.backend.name, jax.default_backend(), "jax" in sys.modules)
"""


@pytest.mark.parametrize(
    ("name", "device"), [("numpy", "numpy:0"), ("xla", "xla:cpu:0"), ("iree", "iree:local:0")]
)
def test_the_environment_switches_a_whole_program(name, device):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        env={**os.environ, "PLUGJAX_BACKEND": name}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    x, y, value, backend, platform, has_jax = done.stdout.split()
    assert (x, y, backend, platform) == (device, device, name, "cpu")
    assert float(value) == pytest.approx(2 * np.sin(1.0), rel=1e-5)
    assert has_jax == "False"  # JAX is installed as the oracle, and never imported.


def test_the_default_is_the_best_that_is_installed():
    environment = {k: v for k, v in os.environ.items() if k != "PLUGJAX_BACKEND"}
    code = "from plugjax.extend.backend import default_backend; print(default_backend())"
    for extra, expected in (({}, "xla"), ({"PLUGJAX_NO_PLUGINS": "xla,iree"}, "numpy")):
        done = subprocess.run(
            [sys.executable, "-c", code], env={**environment, **extra}, capture_output=True, text=True, check=True
        )  # fmt: skip
        assert done.stdout.strip() == expected


def test_an_update_after_import_beats_the_environment():
    code = (
        "import plugjax; from plugjax.extend.backend import default_backend; before = default_backend(); "
        "plugjax.config.update('backend', 'numpy'); print(before, default_backend(), plugjax.numpy.ones(2).device)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PLUGJAX_BACKEND": "xla"}, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.split() == ["xla", "numpy", "numpy:0"]


def test_device_of_jit_with_block_and_argument():
    x = np.arange(4, dtype=np.float32)
    with plugjax.default_device("iree:task:0"):
        inside = plugjax.jit(jnp.cos)(x)
        chosen = plugjax.jit(jnp.cos, device="numpy")(x)
        committed = plugjax.jit(jnp.cos)(plugjax.device_put(x, "xla"))
    assert [str(a.device) for a in (inside, chosen, committed)] == [
        "iree:task:0",
        "numpy:0",
        "xla:cpu:0",
    ]
    for a in (inside, chosen, committed):
        np.testing.assert_allclose(a, np.cos(x), rtol=1e-5)


def test_moving_between_host_devices_shares_memory():
    x = plugjax.device_put(np.arange(1000, dtype=np.float32), "numpy")
    y = plugjax.device_put(x, "xla")
    assert np.asarray(x).ctypes.data == np.asarray(y).ctypes.data


def test_eager_modes_agree(backend):
    x = np.linspace(0, 1, 6, dtype=np.float32)
    with plugjax.default_device(backend):
        for mode in ("host", "compile"):
            with plugjax.config.override("eager", mode):
                np.testing.assert_allclose(jnp.sin(jnp.asarray(x)) + 1, np.sin(x) + 1, rtol=1e-5)


def test_the_default_backend_is_what_programs_of_jax_compare_with(backend):
    before = plugjax.config.backend
    plugjax.config.update("backend", backend)
    try:
        assert plugjax.default_backend() == jax.default_backend() == "cpu"
        assert plugjax.devices(plugjax.default_backend())[0].platform == "cpu"
    finally:
        plugjax.config.update("backend", before)


def test_an_eager_operation_without_operands_follows_the_default_device():
    for _ in range(2):
        for name in ("numpy", "xla", "iree"):
            with plugjax.default_device(name):
                assert jnp.arange(5).device.backend.name == name
                assert (
                    plugjax.lax.broadcasted_iota(jnp.int32, (2, 3), 1).device.backend.name == name
                )
    mesh = plugjax.make_mesh((1,), ("x",))
    with plugjax.set_mesh(mesh):
        assert jnp.arange(5).tolist() == [0, 1, 2, 3, 4]
    assert jnp.arange(5.5).dtype == jnp.float32
