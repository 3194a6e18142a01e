"""The environment of all tests and doctests."""

import importlib
import importlib.util
import os
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("PLUGJAX_BACKEND", "numpy")
# Tests examine what backends compute, without the guards' repairs.
os.environ.setdefault("PLUGJAX_VERIFY", "off")
# Nor does NumPy compute what a backend has not compiled yet.
os.environ.setdefault("PLUGJAX_TIERED", "off")

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


def pytest_addoption(parser):
    parser.addoption(
        "--wide",
        action="store_true",
        help="sweeps run whole: every row of the tests marked with `spread`, and whole tables instead of samples",
    )


# Tests that are commands of their own, `pytest -m NAME`: they need more than the environment of the tests has.
OWN_COMMANDS = {
    "libraries": "runs libraries that need not be installed; only with -m libraries",
    "site": "builds the whole site; only with -m site",
    "pyright": "fetches pyright by npx; only with -m pyright",
    "compile_only": "compiles every row of the op table for hardware that is not there; only with -m compile_only",
}


def pytest_configure(config):
    for name, words in OWN_COMMANDS.items():
        config.addinivalue_line("markers", f"{name}: {words}")
    config.addinivalue_line(
        "markers",
        "spread(n): a wide sweep. Without --wide every n-th of its rows runs, the same ones in each run.",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    _drop_repeated_doctests(items)
    _leave_commands_out(config, items)
    if config.getoption("--wide"):
        return
    sweeps = {}
    for item in items:
        if item.get_closest_marker("spread"):
            sweeps.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = set()
    for rows in sweeps.values():
        count = -(-len(rows) // rows[0].get_closest_marker("spread").args[0])
        # The order of hashes spreads over all parameters, few or many.
        order = sorted(rows, key=lambda item: zlib.crc32(item.nodeid.encode()))
        left_out.update(order[count:])
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _leave_commands_out(config, items):
    others = [name for name in OWN_COMMANDS if name not in config.getoption("markexpr")]
    left_out = {item for item in items if any(map(item.get_closest_marker, others))}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _drop_repeated_doctests(items):
    """Packages and methods show functions of other modules; their examples run once, in the module if there is a choice."""
    kept = {}
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            examples = tuple((example.source, example.want) for example in item.dtest.examples)
            first = kept.setdefault(examples, item)
            if first.dtest.lineno is None or first.path.stem == "__init__":
                kept[examples] = item
    chosen = set(kept.values())
    items[:] = [i for i in items if not isinstance(i, pytest.DoctestItem) or i in chosen]


@pytest.fixture(scope="session", autouse=True)
def _private_cache(tmp_path_factory):
    """Keep away from the user's compilation cache."""
    os.environ["PLUGJAX_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True, scope="module")
def _oracle(request):
    """Modules with ``COMPARES_BITS = True`` get JAX with its usual compiler options."""
    if not getattr(getattr(request.node, "obj", None), "COMPARES_BITS", False):
        yield
        return
    with quick_oracle.optimised():
        yield


@pytest.fixture(autouse=True)
def _errors_without_notes(request):
    """Before Python 3.13 doctest compares the last line of an error, which may be a note, with the message."""
    if isinstance(request.node, pytest.DoctestItem):
        import plugjax  # noqa: PLC0415  # after pytest chose the environment

        with plugjax.config.override("traceback_filtering", "off"):
            yield
    else:
        yield


@pytest.fixture(autouse=True)
def _options_stay():
    """An option that a test left changed would change what later tests of the process examine."""
    from plugjax.core.config import this_thread  # noqa: PLC0415  # after pytest chose the environment

    before = this_thread.view.values
    yield
    after = this_thread.view.values
    assert {name: after[name] for name in before} == before


@pytest.fixture(autouse=True)
def _draws(request, monkeypatch):
    """Seed the module's ``RNG``, so that a test draws the same numbers in every order of tests."""
    module = getattr(request, "module", None)
    if hasattr(module, "RNG"):
        seed = zlib.crc32(request.node.name.encode())
        monkeypatch.setattr(module, "RNG", np.random.default_rng(seed))


# Importing it is a warning.
collect_ignore = ["plugjax/cloud_tpu_init.py"]
# The site is built by what the extra `docs` installs.
if importlib.util.find_spec("sphinx") is None:
    collect_ignore += [
        f"plugjax/docs/{name}.py" for name in ("builder", "directives", "mathematics")
    ]
# Applications of libraries that need not be installed; `pytest -m libraries` runs them.
collect_ignore_glob = ["plugins/as_jax/plugjax_as_jax/applications/*_*.py"]


def pytest_collect_file(file_path, parent):
    """Import modules of packages by name, before pytest imports them by path.

    Pytest imports the package, which imports the module, and then runs the module a second time: its primitives would
    differ from those of the rules.
    """
    if file_path.suffix != ".py" or file_path.stem == "cloud_tpu_init":
        return
    folder, names = file_path.parent, [file_path.stem]
    while (folder / "__init__.py").exists():
        names.append(folder.name)
        folder = folder.parent
    is_module = len(names) > 1 and file_path.stem not in ("__init__", "__main__")
    # Packages among the tests have no importable name.
    if is_module and importlib.util.find_spec(names[-1]) is not None:
        importlib.import_module(".".join(reversed(names)))
