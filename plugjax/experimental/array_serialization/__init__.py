"""Arrays and trees of arrays that outlive a run: the names of ``jax.experimental.array_serialization``.

``pytree_serialization`` saves and loads trees; ``serialization`` has the manager of JAX's older interface. A checkpoint is a folder. With
the package tensorstore it is JAX's, which JAX reads too; otherwise it holds ``.npy`` files and a manifest in JSON. Nothing is pickled, and
loading runs no code but the functions by which classes of containers were registered.

A checkpoint is written beside the old one and takes its place when it is whole (``folders``).
"""

from plugjax.experimental.array_serialization import (
    pytree_serialization as pytree_serialization,
    pytree_serialization_utils as pytree_serialization_utils,
    serialization as serialization,
)

__all__ = ["pytree_serialization", "pytree_serialization_utils", "serialization"]
