"""Tests of the whole site need Sphinx, and a browser if there is one: they run with ``-m site`` alone."""


def pytest_configure(config):
    config.addinivalue_line("markers", "site: builds the whole site; only with -m site")


def pytest_collection_modifyitems(config, items):
    if "site" in config.getoption("markexpr"):
        return
    left_out = [item for item in items if item.get_closest_marker("site")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]
