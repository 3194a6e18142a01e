"""The version of what stands in for ``jax.lib``: jaxlib's, if it is installed."""

from __future__ import annotations

import importlib.metadata

try:
    __version__ = importlib.metadata.version("jaxlib")
except importlib.metadata.PackageNotFoundError:
    __version__ = "0.10.2"
