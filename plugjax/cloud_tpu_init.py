"""JAX's deprecated module for TPUs in the cloud: importing it warns and does nothing, as in JAX."""

import warnings

warnings.warn(
    "plugjax.cloud_tpu_init does nothing, and jax.cloud_tpu_init was deprecated in JAX v0.8.1. Remove the import.",
    DeprecationWarning,
    stacklevel=2,
)
