"""Names on the command line: files or modules, functions in them, and shapes such as ``f32[1,64]``."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np

from plugjax.extend.core import ShapeDtypeStruct
from plugjax.extend.dtypes import bfloat16

_DTYPES = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "bf16": bfloat16, "f32": np.float32, "f64": np.float64,
    "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip
_SPEC = re.compile(r"\s*([a-z]+\d*)\[([\d,\s]*)\]\s*")


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


def parse_shapes(text: str) -> list[ShapeDtypeStruct]:
    """``"f32[1,64],i32[8]"`` as structs.

    Raises:
        ValueError: the text has another form; the message names the place.
    """
    found: list[ShapeDtypeStruct] = []
    position = 0
    while position < len(text):
        match = _SPEC.match(text, position)
        if match is None or match[1] not in _DTYPES:
            raise ValueError(
                f"cannot read a shape at {text[position:]!r}; write dtype[sizes] such as f32[1,64], dtypes are "
                + ", ".join(_DTYPES)
            )
        sizes = [int(s) for s in match[2].split(",") if s.strip()]
        found.append(ShapeDtypeStruct(sizes, np.dtype(_DTYPES[match[1]])))
        position = match.end()
        if position < len(text):
            if text[position] != ",":
                raise ValueError(f"expected a comma at {text[position:]!r}")
            position += 1
    return found


def lookup(module: Any, name: str) -> Any:
    """An attribute of a module; the error lists the attributes that exist."""
    try:
        return getattr(module, name)
    except AttributeError:
        public = ", ".join(n for n in vars(module) if not n.startswith("_"))
        raise ValueError(f"{module.__name__} has no {name!r}; it has: {public}") from None
