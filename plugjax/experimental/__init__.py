"""Names that JAX keeps under ``jax.experimental``."""

from plugjax.lax.callback import io_callback

__all__ = ["io_callback"]
