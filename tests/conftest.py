"""Options and fixtures of the test suite."""

import contextlib
import sys
import time

import pytest

import plugjax

BACKENDS = ("numpy", "xla", "iree")


def pytest_addoption(parser):
    parser.addoption(
        "--plugjax-backend",
        action="append",
        default=None,
        metavar="NAME",
        help="run the rows of the op table on this backend, and nothing else (repeatable)",
    )


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "backend_rows: what a backend must pass; all that --plugjax-backend runs"
    )


def pytest_generate_tests(metafunc):
    if "backend" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--plugjax-backend") or BACKENDS
        metafunc.parametrize("backend", chosen)


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--plugjax-backend"):
        return
    wanted = [item for item in items if item.get_closest_marker("backend_rows")]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(wanted)])
    items[:] = wanted


@pytest.fixture
def wide(request):
    """Whether sweeps run whole (``--wide``)."""
    return request.config.getoption("--wide")


@pytest.fixture
def on_backend(backend):
    with plugjax.default_device(backend):
        yield backend


@pytest.fixture
def stopwatch():
    """A context manager that prints how long its block took (`pytest -rP` shows it); no test depends on that."""

    @contextlib.contextmanager
    def measure(what):
        start = time.perf_counter()
        yield
        sys.stdout.write(f"{what}: {time.perf_counter() - start:.1f} s\n")

    return measure
