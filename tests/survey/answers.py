"""What a program gives as plain data, and when two answers agree.

Shapes, dtypes, weak types, strings, numbers that are no floats, and the structure of trees agree exactly. Floating and
complex values agree up to ``TOLERANCE`` of the largest one in the array: results of other kernels in another order. Strings
agree once ``plugjax`` is called ``jax``. An error agrees if its class or one of its bases has the name of JAX's class.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from tests.survey.programs import Program

TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float16": 4e-3, "bfloat16": 3e-2}
SINGLE = 4e-5


def answer(program: Program, jax: Any) -> Any:
    """What the program gives on a library, as data that JSON holds: a tree of values, or the names of an error's classes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {"gives": as_data(program.run(jax), jax)}
    except Exception as error:
        names = [c.__name__ for c in type(error).__mro__ if c is not object]
        return {"raises": names, "message": _first_line(str(error))}


def _first_line(message: str) -> str:
    # Without addresses and folders, which change from run to run.
    line = re.sub(r" at (0x|/)\S+", "", message.partition("\n")[0])
    return line[:160]


def as_data(x: Any, jax: Any) -> Any:
    """A value as lists, dicts, numbers and strings."""
    if x is None or (isinstance(x, (bool, int, float, str)) and not isinstance(x, np.generic)):
        return x
    if isinstance(x, complex) and not isinstance(x, np.generic):
        return {"complex": [x.real, x.imag]}
    if isinstance(x, bytes):
        return {"bytes": x.hex()}
    if isinstance(x, Mapping):
        return {"dict": [[as_data(k, jax), as_data(x[k], jax)] for k in x]}
    if isinstance(x, (list, tuple)):
        return {type(x).__name__ if type(x) is list else "tuple": [as_data(v, jax) for v in x]}
    if isinstance(x, np.dtype):
        return {"dtype": x.name}
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return _array(x, jax)
    raise TypeError(f"a program may not return a {type(x).__name__}: {x!r}")


def _array(x: Any, jax: Any) -> dict[str, Any]:
    kind = "numpy" if isinstance(x, (np.ndarray, np.generic)) else "array"
    found = {
        "kind": kind,
        "dtype": str(x.dtype),
        "shape": list(x.shape),
        "weak": bool(getattr(x, "weak_type", False)),
    }
    if str(x.dtype).startswith("key"):
        x = jax.random.key_data(x)
    value = np.asarray(x)
    if np.issubdtype(value.dtype, np.complexfloating):
        return found | {"data": [value.real.ravel().tolist(), value.imag.ravel().tolist()]}
    if value.dtype.kind == "V" or value.dtype.name in vars(ml_dtypes):
        value = value.astype(np.float64)
    return found | {"data": value.ravel().tolist()}  # fmt: skip


def disagreement(ours: Any, theirs: Any) -> str | None:
    """Where two answers differ, or ``None``."""
    if "raises" in theirs:
        if "raises" not in ours:
            return f"gives {_short(ours['gives'])}, where JAX raises {theirs['raises'][0]}: {theirs['message']}"
        if theirs["raises"][0] not in ours["raises"]:
            return f"raises {ours['raises'][0]}: {ours['message']}, where JAX raises {theirs['raises'][0]}: {theirs['message']}"
        return None
    if "raises" in ours:
        return f"raises {ours['raises'][0]}: {ours['message']}"
    return _difference(ours["gives"], theirs["gives"], "")


def _difference(ours: Any, theirs: Any, where: str) -> str | None:
    if isinstance(ours, dict) and isinstance(theirs, dict) and "kind" in theirs and "kind" in ours:
        for part in ("kind", "dtype", "shape", "weak"):
            if ours[part] != theirs[part]:
                return f"{where}: {part} is {ours[part]}, where JAX has {theirs[part]}"
        tolerance = TOLERANCE.get(theirs["dtype"], SINGLE)
        if not _close(ours["data"], theirs["data"], tolerance):
            return f"{where}: {_short(ours['data'])}, where JAX has {_short(theirs['data'])}"
        return None
    if isinstance(theirs, dict) and isinstance(ours, dict) and ours.keys() == theirs.keys():
        return next(filter(None, (_difference(ours[k], theirs[k], where) for k in theirs)), None)
    if isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return next(filter(None, (_difference(a, b, f"{where}[{i}]") for i, (a, b) in pairs)), None)
    if isinstance(theirs, str) and isinstance(ours, str):
        agree = ours.replace("plugjax", "jax") == theirs
    elif isinstance(theirs, float) and isinstance(ours, float):
        agree = _close([ours], [theirs], SINGLE)
    else:
        agree = type(ours) is type(theirs) and ours == theirs
    return None if agree else f"{where}: {_short(ours)}, where JAX has {_short(theirs)}"


def _close(ours: list[Any], theirs: list[Any], tolerance: float) -> bool:
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.dtype.kind not in "fc" or b.dtype.kind not in "fc":
        return a.shape == b.shape and bool((a == b).all())
    finite = np.abs(b[np.isfinite(b)])
    scale = finite.max() if finite.size else 0.0
    # Exact for whole numbers, which come from no rounding.
    return a.shape == b.shape and np.allclose(a, b, rtol=0, atol=tolerance * scale, equal_nan=True)


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) < 400 else text[:400] + "..."
