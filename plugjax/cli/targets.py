"""Names on the command line: files or modules, and what is in them."""

from __future__ import annotations

import importlib
import importlib.util
from inspect import ismodule
from pathlib import Path
from typing import Any


def load(target: str) -> Any:
    """The module at a path ending in ``.py``, or with a dotted name.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the module is missing, or raises when it is imported.
    """
    try:
        if not target.endswith(".py"):
            return importlib.import_module(target)
        path = Path(target)
        if not path.is_file():
            raise FileNotFoundError(
                f"{target} is no regular file" if path.exists() else f"{target} does not exist"
            )
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise ValueError(f"{target} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except FileNotFoundError:
        raise
    except (Exception, SystemExit) as error:
        raise ValueError(f"{target} cannot be imported: {type(error).__name__}: {error}") from error


def lookup(module: Any, name: str) -> Any:
    """An attribute of a module; the error lists the attributes that exist."""
    try:
        return getattr(module, name)
    except AttributeError:
        public = ", ".join(
            n for n, v in vars(module).items() if not n.startswith("_") and not ismodule(v)
        )
        raise ValueError(f"{module.__name__} has no {name!r}; it has: {public}") from None
