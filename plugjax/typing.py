"""Types for annotations: the names of ``jax.typing``."""

from plugjax.core.dtypes import DTypeLike
from plugjax.core.operators import ArrayLike
from plugjax.extend.transforms import show_only

__all__ = ["ArrayLike", "DTypeLike"]

show_only(globals(), __all__)
