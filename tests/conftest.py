"""Options and fixtures of the test suite."""

import pytest

import plugjax

BACKENDS = ("numpy", "xla", "iree")


def pytest_addoption(parser):
    parser.addoption(
        "--plugjax-backend",
        action="append",
        default=None,
        help="run the rows of the op table on this backend (repeatable; default: all of ours)",
    )


def pytest_generate_tests(metafunc):
    if "backend" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--plugjax-backend") or BACKENDS
        metafunc.parametrize("backend", chosen)


@pytest.fixture
def on_backend(backend):
    with plugjax.default_device(backend):
        yield backend
