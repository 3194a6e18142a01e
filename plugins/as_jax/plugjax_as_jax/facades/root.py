"""``jax``: the names of ``plugjax``, with JAX's version."""

from typing import Any

import plugjax
from plugjax_as_jax.facades.version import __version__ as __version__, __version_info__

__all__ = [n for n in dir(plugjax) if not n.startswith("_")]


def __getattr__(name: str) -> Any:
    return getattr(plugjax, name)


__all__ += ["__version_info__"]
