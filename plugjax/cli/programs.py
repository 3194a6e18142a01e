"""``plugjax run``: a Python program in this process, as Python itself would run it."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from plugjax.extend import registry

_ALIAS = "--as-jax needs plugjax-as-jax, which is not installed or not in force: pip install plugjax-as-jax"


def alias() -> ModuleType:
    """The commands of the plugin that makes ``import jax`` plugjax.

    Raises:
        ValueError: there is no such plugin.
    """
    for modules in registry.active().hook.plugjax_extensions():
        if "as_jax" in modules:
            commands: ModuleType = modules["as_jax"]()
            return commands
    raise ValueError(_ALIAS)


def check(arguments: Sequence[str]) -> None:
    """Whether there is such a program.

    Args:
        arguments: those of Python: a file, or ``-m`` and a module, and then the program's own.

    Raises:
        ValueError: there is no program, no such file, or no such module.
    """
    by_name = arguments[:1] == ["-m"]
    program = arguments[by_name:]
    if not program:
        raise ValueError("run needs a program: a file, or -m and a module.")
    if by_name and not _is_module(program[0]):
        raise ValueError(f"run: there is no module {program[0]!r} that Python can import here.")
    if not by_name and not Path(program[0]).exists():
        raise ValueError(f"run: there is no program {program[0]!r} in {Path.cwd()}.")


def _is_module(name: str) -> bool:
    # As Python itself: modules of the current folder too.
    sys.path.insert(0, "")
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
    finally:
        sys.path.remove("")


def run(arguments: Sequence[str]) -> None:
    """Run a program as the main module.

    Args:
        arguments: those of Python, see :func:`check`.

    Raises:
        ValueError: there is no such program.
    """
    check(arguments)
    by_name = arguments[:1] == ["-m"]
    sys.argv = program = list(arguments[by_name:])
    if by_name:
        sys.path[0] = ""
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
        return
    sys.path[0] = str(Path(program[0]).resolve().parent)
    runpy.run_path(program[0], run_name="__main__")
