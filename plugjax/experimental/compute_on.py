"""Where to compute: the names of ``jax.experimental.compute_on``."""

from plugjax.experimental.annotations.calls import compute_on, compute_on2

__all__ = ["compute_on", "compute_on2"]
