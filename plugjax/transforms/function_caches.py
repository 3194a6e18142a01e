"""Caches of the user's functions: what was traced for a function is found again for as long as the function lives.

Two wrappers of one function share them: ``jit(f)`` that is written in a loop, or the body of an eager ``scan``, is traced once.
Functions are told apart as a dict tells keys apart. A function without a hash, or without weak references, has no cache.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any, TypeVar

from plugjax.core import caches
from plugjax.core.config import config
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.core.primitive import state
from plugjax.transforms.flat_calls import Structure
from plugjax.transforms.staging import has_tracers, open_constants

_T = TypeVar("_T")

# By function, what is kept for it. What depends on plugins or on the configuration is in a table of its own that can be emptied.
_kept: weakref.WeakKeyDictionary[Any, dict[Hashable, Any]] = weakref.WeakKeyDictionary()

# Types of values that are functions and nothing else: what is derived of one follows from it alone.
functions: set[type] = {FunctionType}

# A program with its constants as leading inputs, their values, and the structure of its result.
TracedBody = tuple[ClosedJaxpr, list[Any], Any]


def kept_for(fun: Callable[..., Any], key: Hashable, make: Callable[[], _T]) -> _T:
    """What was made under ``key`` for a function, now or before. It must not refer to the function, which would live for ever."""
    try:
        kept = _kept.get(fun)
        if kept is None:
            kept = _kept[fun] = {}
        found: _T | None = kept.get(key)
    except TypeError:  # No hash, or no weak references.
        return make()
    if found is None:
        found = kept[key] = make()
    return found


def cached_trace(
    fun: Callable[..., Any], key: Hashable, trace: Callable[[Structure], ClosedJaxpr]
) -> TracedBody:
    """The program of a function: traced now, or before under the same configuration and named axes.

    Args:
        fun: the function whose cache keeps the program.
        key: what else the program depends on: structure and avals of the arguments, for example.
        trace: makes the program, and puts the structure of its result where it is told to.

    A program that refers to tracers of an enclosing transformation belongs to one call, and is not kept.
    """
    cache = kept_for(fun, "traces", caches.new_cache)
    full = (config.fingerprint, state.axes, key)
    try:
        found: TracedBody | None = cache.get(full)
    except TypeError:  # A part of the key has no hash.
        found, cache, full = None, caches.new_cache(), (config.fingerprint, (), ())
    if found is not None:
        return found[0], list(found[1]), found[2]
    out = Structure()
    program = trace(out)
    opened, constants = open_constants(program)
    if not has_tracers(program):
        cache[full] = opened, list(constants), out.tree
    return opened, constants, out.tree


def derived_once(
    fun: Callable[..., Any],
    key: Hashable,
    derive: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> Callable[..., Any]:
    """A function derived from another, as one object for each, so that what is traced for it is found again.

    Args:
        fun: the function whose cache keeps the derived one.
        key: tells what is derived of one function apart.
        derive: makes the function. It is given a function that calls ``fun`` and refers to it weakly.
    """
    if type(fun) not in functions:
        return derive(fun)
    return kept_for(fun, key, lambda: derive(_calling(weakref.ref(fun))))


def _calling(refer: Callable[[], Any]) -> Callable[..., Any]:
    return lambda *args: refer()(*args)
