"""The version of plugjax, as ``jax.version`` has JAX's.

Example:
    >>> from plugjax import version
    >>> version.__version_info__
    (0, 1, 0)
"""

from plugjax import __version__, __version_info__

__all__ = ["__version__", "__version_info__"]
