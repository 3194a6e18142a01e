"""Types for annotations: the names of ``jax.typing``."""

from plugjax.core.dtypes import DTypeLike
from plugjax.numpy.promotion import ArrayLike

__all__ = ["ArrayLike", "DTypeLike"]
