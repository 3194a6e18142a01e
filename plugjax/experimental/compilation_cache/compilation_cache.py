"""Where the compilation cache on disk is."""

from __future__ import annotations

import os

from plugjax.core.config import config
from plugjax.execution.compilation_cache import forget_opened


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Keep compiled programs in a folder; ``PLUGJAX_CACHE_DIR`` comes first.

    Example:
        >>> import plugjax
        >>> from plugjax.experimental.compilation_cache import compilation_cache
        >>> compilation_cache.set_cache_dir("/tmp/programs")
        >>> plugjax.config.jax_compilation_cache_dir
        '/tmp/programs'
        >>> plugjax.config.update("jax_compilation_cache_dir", None)
    """
    config.update("compilation_cache_dir", os.fspath(path))


def reset_cache() -> None:
    """Drop what is known of the cache's folder; the next compilation looks at it afresh.

    Example:
        >>> from plugjax.experimental.compilation_cache import compilation_cache
        >>> compilation_cache.reset_cache()
    """
    forget_opened()


__all__ = ["reset_cache", "set_cache_dir"]
