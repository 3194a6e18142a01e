"""The compilation cache on disk: ``plugjax.experimental.compilation_cache.compilation_cache``."""

from plugjax.experimental.compilation_cache import compilation_cache as compilation_cache

__all__ = ["compilation_cache"]
