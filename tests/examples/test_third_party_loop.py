"""A package that plugjax does not know brings a loop with every kind of rule, and imports `plugjax.extend` alone."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import quick_oracle

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/third_party_loop"
# What runs on each backend: compilations take most of the time. To a compiler, derivatives of derivatives are loops like others.
CHOSEN = {
    "numpy": "values or over or grad_of_grad or grad_of_check or one_loop or no_steps or misuse",
    "xla": "jit_of_vmap or nested or no_steps",
    "iree": "jit_of_vmap or no_steps",
}
# For JAX as an oracle; the backend XLA compiles as usual.
QUICK = " ".join(f"--{name}={str(value).lower()}" for name, value in quick_oracle.QUICK.items())


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the package, installed by pip."""
    source = tmp_path_factory.mktemp("source") / "package"
    shutil.copytree(EXAMPLE, source)
    target = tmp_path_factory.mktemp("site")
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
        "--disable-pip-version-check", "--target", str(target), str(source),
    ]  # fmt: skip
    subprocess.run(command, check=True)
    return target


def test_it_imports_from_the_public_surface_alone():
    files = sorted((EXAMPLE / "plugjax_recurrence").glob("*.py"))
    text = "\n".join(path.read_text() for path in files)
    imported = re.findall(r"^\s*(?:from|import) ((?:plugjax|jax)\w*(?:\.\w+)*)", text, re.MULTILINE)
    assert files
    assert {
        m for m in imported if not m.startswith(("plugjax_recurrence", "plugjax.extend"))
    } == set()


@pytest.mark.spread(3)
def test_own_tests(installed, backend):
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "--import-mode=importlib")
    tests = ("--rootdir", str(EXAMPLE / "tests"), str(EXAMPLE / "tests"), "--noconftest")
    own = {"PYTHONPATH": path, "PLUGJAX_BACKEND": backend, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    if backend != "xla":
        own["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {QUICK}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-W", "error", *options, *tests, "-k", CHOSEN[backend]],
        env={**os.environ, **own},
        capture_output=True, text=True, timeout=280, cwd=installed,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
