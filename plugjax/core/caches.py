"""Caches that ``plugjax.clear_caches`` empties together. Their keys hold ``config.fingerprint``."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


class Cache(dict[Any, Any]):
    """A dict that :func:`clear_all` empties."""

    __slots__ = ("__weakref__",)

    def __hash__(self) -> int:  # type: ignore[override]  # identity, so that weak references can be kept in a set
        return id(self)


_caches: weakref.WeakSet[Cache] = weakref.WeakSet()


def new_cache(make: Callable[[], Cache] = Cache) -> Cache:
    """A new, empty cache that :func:`clear_all` reaches for as long as it lives."""
    cache = make()
    _caches.add(cache)
    return cache


def clear_all() -> None:
    """Empty every cache."""
    for cache in list(_caches):
        cache.clear()
