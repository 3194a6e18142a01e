"""``plugjax run``: a Python program in this process, as Python itself would run it."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from plugjax.extend import registry

_ALIAS = "--as-jax needs plugjax-as-jax, which is not installed or not in force: pip install ./plugins/as_jax"


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


def run(arguments: Sequence[str]) -> None:
    """Run a program as the main module.

    Args:
        arguments: those of Python: a file, or ``-m`` and a module, and then the program's own.

    Raises:
        ValueError: there is no program, or no such file.
    """
    by_name = arguments[:1] == ["-m"]
    program = list(arguments[by_name:])
    if not program:
        raise ValueError("run needs a program: a file, or -m and a module.")
    sys.argv = program
    if by_name:
        sys.path[0] = ""
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
        return
    if not Path(program[0]).exists():
        raise ValueError(f"run: there is no program {program[0]!r} in {Path.cwd()}.")
    sys.path[0] = str(Path(program[0]).resolve().parent)
    runpy.run_path(program[0], run_name="__main__")
