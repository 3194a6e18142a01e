"""A package that plugjax does not know brings a primitive, and it works everywhere."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the package, installed by pip."""
    target = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source") / "package"
    subprocess.run(
        ["cp", "-r", str(ROOT / "examples/third_party_primitive"), str(source)], check=True
    )
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
        "--disable-pip-version-check", "--target", str(target), str(source),
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return target


def run(installed, code):
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env=environment, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_plugjax_does_not_know_it():
    assert importlib.util.find_spec("plugjax_lambertw") is None


@pytest.mark.spread(3)
def test_under_jit_vmap_grad_on_every_backend(installed, backend):
    run(
        installed,
        f"""
        import numpy as np, scipy.special
        import plugjax, plugjax.numpy as jnp
        from plugjax_lambertw import lambertw
        x = np.array([-0.3, -0.1, 0.0, 0.5, 1.0, 10.0, 1e4], np.float32)
        w = np.real(scipy.special.lambertw(x.astype(np.float64)))
        with plugjax.default_device("{backend}"):
            slope = plugjax.jit(plugjax.vmap(plugjax.grad(lambertw)))(x)
            assert slope.device.backend.name == "{backend}"
            np.testing.assert_allclose(slope, 1 / (np.exp(w) * (1 + w)), rtol=2e-4)
            np.testing.assert_allclose(plugjax.jit(lambertw)(x), w, rtol=2e-5, atol=1e-6)
            np.testing.assert_allclose(lambertw(jnp.asarray(x)), w, rtol=1e-6, atol=1e-7)
            curvature = plugjax.jit(plugjax.vmap(plugjax.grad(plugjax.grad(lambertw))))(x)
            expected = -np.exp(-2 * w) * (w + 2) / (1 + w) ** 3
            np.testing.assert_allclose(curvature, expected, rtol=2e-3)
        """,
    )


def test_it_is_listed_and_can_be_blocked(installed):
    listing = run(
        installed,
        """
        from plugjax.core import registry
        print([(p.name, p.distribution, p.provides) for p in registry.active().plugins if p.name == "lambertw"])
        """,
    )
    assert "plugjax-lambertw" in listing
    assert "primitive lambertw" in listing
    run(
        installed,
        """
        import os
        os.environ["PLUGJAX_NO_PLUGINS"] = "lambertw"
        from plugjax.core.errors import MissingRuleError
        from plugjax_lambertw import lambertw
        try:
            lambertw(1.0)
        except MissingRuleError as error:
            assert "lambertw" in str(error)
        else:
            raise AssertionError("the rule should be missing")
        """,
    )
