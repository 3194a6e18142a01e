"""What all tests and doctests share: the environment that they run in."""

import importlib
import importlib.util
import os
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("PLUGJAX_BACKEND", "numpy")
# What backends compute is tested, not what the guards make of it.
os.environ.setdefault("PLUGJAX_VERIFY", "off")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests import quick_oracle

# The same draws in each run; `--hypothesis-profile=thorough` draws many others.
settings.register_profile(
    "quick",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=12,
    suppress_health_check=list(HealthCheck),
)
settings.register_profile(
    "thorough", settings.get_profile("quick"), derandomize=False, max_examples=300
)
settings.load_profile("quick")
quick_oracle.install()


@pytest.fixture(scope="session", autouse=True)
def _private_cache(tmp_path_factory):
    """The user's compilation cache is neither used nor filled."""
    os.environ["PLUGJAX_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True, scope="module")
def _oracle(request):
    """JAX compiles as its users know it for modules that say ``COMPARES_BITS = True``."""
    if not getattr(getattr(request.node, "obj", None), "COMPARES_BITS", False):
        yield
        return
    with quick_oracle.optimised():
        yield


@pytest.fixture(autouse=True)
def _draws(request, monkeypatch):
    """A test draws the same numbers from its module's ``RNG`` whichever tests ran before it."""
    module = getattr(request, "module", None)
    if hasattr(module, "RNG"):
        seed = zlib.crc32(request.node.name.encode())
        monkeypatch.setattr(module, "RNG", np.random.default_rng(seed))


def pytest_collect_file(file_path, parent):
    """Modules of packages are imported by name, before pytest does it by path.

    Pytest imports the package first, which imports the module, and then runs the module once more: its primitives would be others
    than those that the rules are about.
    """
    if file_path.suffix != ".py":
        return
    folder, names = file_path.parent, [file_path.stem]
    while (folder / "__init__.py").exists():
        names.append(folder.name)
        folder = folder.parent
    is_module = len(names) > 1 and file_path.stem not in ("__init__", "__main__")
    # Packages among the tests are found by path alone.
    if is_module and importlib.util.find_spec(names[-1]) is not None:
        importlib.import_module(".".join(reversed(names)))
