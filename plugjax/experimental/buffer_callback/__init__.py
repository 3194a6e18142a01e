"""Callbacks that write their results to the memory of a device: the names of ``jax.experimental.buffer_callback``."""

from plugjax.experimental.buffer_callback.buffers import Buffer, ExecutionContext, ExecutionStage
from plugjax.experimental.buffer_callback.call import buffer_callback

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]
