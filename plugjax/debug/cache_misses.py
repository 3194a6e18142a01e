"""Explanations of retracing: ``jax_explain_cache_misses``.

After a miss, the key of ``jit``'s cache of traces is compared, part by part, with the function's earlier keys, and the
difference to the closest one is logged.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import Fingerprint, Placement, ShapedArray, user_source
from plugjax.extend.execution import CacheMiss, TraceKey, argument_names

logger = logging.getLogger(__name__)

# (file, line) of functions that were traced: a function that is made again at each call never hits
# a cache.
_seen_lines: set[tuple[str, int]] = set()


def explain(miss: CacheMiss) -> None:
    """Log why a function is traced or compiled."""
    if miss.placement is None:
        _explain_trace(miss.fun, miss.key, miss.known)
    else:
        _explain_compilation(miss.name, miss.placement, miss.placements)


def _explain_trace(fun: Callable[..., Any], key: TraceKey, known: Iterable[TraceKey]) -> None:
    """Log why ``fun`` is traced for ``key`` although it was traced for ``known``.

    Args:
        fun: the user's function.
        key: fingerprint of the configuration, structure of the arguments, static arguments, avals, named axes.
        known: earlier keys.
    """
    lines = [f"traced anew at {user_source(2)}:"]
    code = getattr(inspect.unwrap(fun), "__code__", None)
    name = getattr(fun, "__name__", type(fun).__name__)
    defined = f" defined at {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    known = list(known)
    if not known:
        lines.append(f"  a function not seen before:\n    {name} id={id(fun)}{defined}")
        if code is not None:
            line = (code.co_filename, code.co_firstlineno)
            if line in _seen_lines:
                lines.append(
                    "  another function was defined on this line before, so it may make a new one each time. "
                    "Call jit once, outside of the loop."
                )
            _seen_lines.add(line)
    else:
        closest = _differences(fun, key, min(known, key=lambda other: _distance(fun, key, other)))
        lines.append(f"  for {name}{defined}")
        lines.append("  every known key differs; the closest one in:")
        lines.extend(f"  {line}" for line in closest)
    logger.warning("\n".join(lines))


def _explain_compilation(name: str, chosen: Placement, known: Iterable[Placement]) -> None:
    """Log that a function that has been traced is compiled for another device."""
    seen = ", ".join(sorted({str(p.device) for p in known}))
    logger.warning(
        f"compiled anew at {user_source(2)}:\n  for {name}: different device: now {_where(chosen)}, before {seen}"
    )


def _where(placement: Placement) -> str:
    return f"{placement.device} ({'committed' if placement.committed else 'not committed'})"


def _differences(fun: Callable[..., Any], new: TraceKey, old: TraceKey) -> list[str]:
    """The differences of two keys, one line each; the closest key has the fewest."""
    fingerprint, in_tree, statics, avals, axes = new
    old_fingerprint, old_tree, old_statics, old_avals, old_axes = old
    found = []
    if fingerprint is not old_fingerprint:
        found += _configuration(fingerprint, old_fingerprint)
    if statics != old_statics:
        found += _static(statics, old_statics)
    if in_tree != old_tree:
        found.append("different input pytree:")
        now, before = (argument_names(fun, tree, statics) for tree in (in_tree, old_tree))
        found += [f"  * {name} was not there before" for name in now if name not in before]
        found += [f"  * {name} is not there any more" for name in before if name not in now]
        if set(now) == set(before):
            found.append(f"  * containers differ: {pytree.first_difference(old_tree, in_tree)}")
    elif avals != old_avals:
        found += _types(argument_names(fun, in_tree, statics), avals, old_avals)
    if axes != old_axes:
        found.append("different named axes of enclosing vmaps:")
        found.append(f"  * now {_axes(axes)}, before {_axes(old_axes)}")
    return found


def _distance(fun: Callable[..., Any], new: TraceKey, old: TraceKey) -> tuple[int, int]:
    shapes = ([(a.shape, a.dtype) for a in avals] for avals in (new[3], old[3]))
    return len(_differences(fun, new, old)), sum(a != b for a, b in zip(*shapes, strict=False))


def _axes(axes: Sequence[Any]) -> str:
    return ", ".join(f"{axis.name}:{axis.size}" for axis in axes) or "none"


def _configuration(new: Fingerprint, old: Fingerprint) -> list[str]:
    # Another generation of rules empties all caches, so it never differs here.
    changed = [
        f"  * jax_{name}: now {value!r}, before {old.options[name]!r}"
        for name, value in new.options.items()
        if value != old.options[name]
    ]
    return ["different configuration:", *changed]


def _static(new: Sequence[Any], old: Sequence[Any]) -> list[str]:
    now, before = dict(new), dict(old)
    lines = ["different static arguments:"]
    for where in dict.fromkeys((*now, *before)):
        a, b = now.get(where), before.get(where)
        if a != b:
            shown = [repr(v.value) if v is not None else "not given" for v in (a, b)]
            at = f"position {where}" if isinstance(where, int) else f"name {where!r}"
            lines.append(f"  * at {at}: now {shown[0]}, before {shown[1]}")
    return lines


def _types(
    names: Sequence[str], new: Sequence[ShapedArray], old: Sequence[ShapedArray]
) -> list[str]:
    lines = ["different input types:"]
    for name, a, b in zip(names, new, old, strict=True):
        if a is not b:
            shown = [aval.str_short() for aval in (a, b)]
            if a.weak_type != b.weak_type:
                shown = [
                    f"{s}{{weak_type={v.weak_type}}}" for s, v in zip(shown, (a, b), strict=True)
                ]
            lines.append(f"  * at {name}: now {shown[0]}, before {shown[1]}")
    return lines
