"""Foreign functions of XLA, which ``plugjax.ffi`` registers here."""

from plugjax_xla.jaxlib_shim import (
    include_dir,
    register_batch_partitionable,
    register_target,
    register_type,
)

__all__ = ["include_dir", "register_batch_partitionable", "register_target", "register_type"]
