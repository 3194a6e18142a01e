"""Types for annotations: the names of ``jax.typing``."""

from plugjax.core.dtypes import DTypeLike
from plugjax.core.operators import ArrayLike

__all__ = ["ArrayLike", "DTypeLike"]
