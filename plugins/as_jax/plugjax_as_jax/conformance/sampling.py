"""A plugin of pytest for test suites of libraries: a part of the tests, spread over all, and flags that count as parsed."""

from __future__ import annotations

import sys
import zlib
from typing import Any


def pytest_addoption(parser: Any) -> None:
    """The option ``--every``."""
    group = parser.getgroup("plugjax_as_jax")
    group.addoption(
        "--every", type=int, default=1, help="run every n-th test, the same in each run"
    )


def pytest_configure(config: Any) -> None:
    """Tests that absl would run find its flags with their defaults."""
    try:
        from absl import flags  # noqa: PLC0415  # where the library has it
    except ImportError:
        return
    flags.FLAGS(sys.argv[:1])


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Leave out all but every n-th test, by a hash of the name."""
    every = config.getoption("--every")
    kept = [item for item in items if zlib.crc32(_name(item).encode()) % every == 0]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def common_name(name: str) -> str:
    """The name of a test with the real jax, also where it tells a class of plugjax: ``test(<class 'plugjax.numpy.float64'>)``."""
    return name.replace("'plugjax.", "'jax.")


def _name(item: Any) -> str:
    # Without the folder, which is another on another machine.
    return common_name(item.nodeid.rpartition("/")[2])
