"""``import jax`` is plugjax: libraries that are written for JAX run unmodified, on every backend.

Ways in, each before the first import of ``jax``:

* ``python -m plugjax_as_jax program.py arguments``, or ``-m module arguments``; ``plugjax run --as-jax program.py``;
* ``plugjax_as_jax.install()`` in the program;
* ``pytest -p plugjax_as_jax``;
* the environment variable ``PLUGJAX_AS_JAX=1``, for every process that inherits it;
* ``%load_ext plugjax_as_jax`` in a notebook.

What differs from JAX by intent is in ``docs/as_jax.md``.
"""

from __future__ import annotations

import sys
from typing import Any

from plugjax_as_jax.finder import install, installed, shadowed
from plugjax_as_jax.report import Report, report

__all__ = ["Report", "install", "installed", "report", "shadowed"]


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext plugjax_as_jax``: from here on, ``import jax`` in the notebook is plugjax."""
    install()


def pytest_addoption(parser: Any) -> None:
    """``pytest -p plugjax_as_jax``: pytest calls this hook first, before it imports ``conftest.py``."""
    install()
    group = parser.getgroup("plugjax_as_jax")
    group.addoption(
        "--as-jax-report",
        action="store_true",
        help="print the names of JAX that were looked up and that plugjax lacks",
    )


def pytest_report_header(config: Any) -> str:
    """A line at the top: which ``jax`` the tests run with."""
    return f"jax: {sys.modules[__name__].report().header}"


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """The report, if it was asked for."""
    if config.getoption("--as-jax-report"):
        terminalreporter.write_line(str(report()))
