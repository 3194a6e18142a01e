"""Tests of the whole site run with ``-m site`` alone: they need Sphinx, and a browser if there is one."""

import pytest


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "site: builds the whole site, and looks at it in a browser; only with -m site"
    )


def pytest_collection_modifyitems(config, items):
    if "site" not in config.option.markexpr:
        for item in items:
            if item.get_closest_marker("site"):
                item.add_marker(pytest.mark.skip(reason="pytest -m site tests/docs"))
