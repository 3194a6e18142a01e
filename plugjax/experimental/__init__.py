"""Names that JAX keeps under ``jax.experimental``."""

from plugjax.experimental.tangent_dtypes import primal_tangent_dtype
from plugjax.lax.callback import io_callback

__all__ = ["io_callback", "primal_tangent_dtype"]
