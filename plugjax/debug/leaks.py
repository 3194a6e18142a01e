"""Leaked tracers: values of a transformation that are still referenced when it is over (``jax_check_tracer_leaks``).

When the function that made a trace returns, the framework's own references are gone with its frames. A tracer that
still exists has leaked. The garbage collector knows its referrers.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from types import CellType, FrameType, FunctionType, ModuleType
from typing import Any

from plugjax.extend.core import Trace, Tracer
from plugjax.extend.errors import LeakedTracerError

# Number of references that are followed from a tracer.
STEPS = 6


def check_ended(traces: list[Trace]) -> None:
    """Search for tracers of ended traces; empties the list.

    Raises:
        LeakedTracerError: a tracer is still referenced.
    """
    gc.collect()
    while traces:
        trace = traces.pop()
        leaked = [x for x in gc.get_referrers(trace) if isinstance(x, Tracer)]
        if leaked:
            raise LeakedTracerError(_message(trace, leaked))


def _message(trace: Trace, leaked: list[Tracer]) -> str:
    described = []
    for x in leaked:
        holders = _holders(x, leaked) or ["a local variable of a running function"]
        chain = "\n".join(f"    which is {line}" for line in holders)
        described.append(f"  {x!r}\n    {x._origin()}\n{chain}")
    return (
        f"Leaked trace {type(trace).__name__} ({trace.origin}). Leaked tracer(s):\n\n"
        + "\n\n".join(described)
        + "\n\nReturn the values from the transformed function instead of storing them."
    )


# The functions below close over nothing: their cells would be further referrers.


def _holders(x: Any, ignored: list[Any]) -> list[str]:
    """Descriptions of the referrers of an object, from the nearest outwards."""
    lines: list[str] = []
    child = x
    seen = {id(ignored)}
    for _ in range(STEPS):
        parent = _holder(child, seen)
        if parent is None:
            break
        seen.add(id(parent))
        if isinstance(parent, dict):
            key = _key(parent, child)
            owner = _owner(parent, seen)
            if isinstance(owner, ModuleType):
                lines.append(f"global variable {key} of module {owner.__name__}")
                break
            if owner is None:
                lines.append(f"the value at key {key} of a dict")
            else:
                lines.append(f"attribute {key} of an object of type {type(owner).__name__}")
                parent = owner
        elif isinstance(parent, (list, tuple)):
            lines.append(f"item {_index(parent, child)} of a {type(parent).__name__}")
        elif isinstance(parent, CellType):
            function = _closing_over(parent)
            if function is None:
                lines.append("a variable that a function closes over")
            else:
                index = _index(function.__closure__ or (), parent)
                name = function.__code__.co_freevars[index]
                lines.append(
                    f"variable {name!r}, which function {function.__qualname__} closes over"
                )
                break
        else:
            key = _key(getattr(parent, "__dict__", {}), child)
            lines.append(f"attribute {key} of an object of type {type(parent).__name__}")
        child = parent
    return lines


def _holder(x: Any, seen: set[int]) -> Any:
    """The referrer that says most about the user's program."""
    referrers = gc.get_referrers(x)
    for kind in (dict, CellType, list, tuple, object):
        for found in referrers:
            if isinstance(found, kind) and id(found) not in seen and type(found) is not FrameType:
                return found
    return None


def _key(parent: dict[Any, Any], child: Any) -> str:
    for key, value in parent.items():
        if value is child:
            return repr(key)
    return "?"


def _index(parent: Sequence[Any], child: Any) -> int:
    for index, item in enumerate(parent):
        if item is child:
            return index
    return -1


def _owner(namespace: dict[Any, Any], seen: set[int]) -> Any:
    """The module or object whose ``__dict__`` a dict is."""
    name = namespace.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    if module is not None and vars(module) is namespace:
        return module
    for owner in gc.get_referrers(namespace):
        if id(owner) not in seen and getattr(owner, "__dict__", None) is namespace:
            return owner
    return None


def _closing_over(cell: CellType) -> FunctionType | None:
    for closure in gc.get_referrers(cell):
        if isinstance(closure, tuple):
            for function in gc.get_referrers(closure):
                if isinstance(function, FunctionType) and function.__closure__ is closure:
                    return function
    return None
