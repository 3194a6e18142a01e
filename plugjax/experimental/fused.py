"""Functions as one kernel: the names of ``jax.experimental.fused``."""

from plugjax.experimental.annotations.calls import fused, fused_p

__all__ = ["fused", "fused_p"]
