"""Metadata of operations for XLA: the name of ``jax.experimental.xla_metadata``."""

from plugjax.experimental.annotations.metadata import set_xla_metadata

__all__ = ["set_xla_metadata"]
