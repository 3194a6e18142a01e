"""What all tests and doctests share: the environment that they run in."""

import gc
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("PLUGJAX_BACKEND", "numpy")

import pytest
from hypothesis import HealthCheck, settings

from tests.quick_oracle import optimised

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
    with optimised():
        yield


def pytest_collection_finish():
    """What the collection made stays: the collector of garbage need not look at it again and again."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
