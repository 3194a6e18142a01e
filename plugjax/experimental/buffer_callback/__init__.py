"""Callbacks that write their results to the memory of a device: the names of ``jax.experimental.buffer_callback``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugjax.extend.transforms import late, show_only

if TYPE_CHECKING:
    from plugjax.experimental.buffer_callback.buffers import (
        Buffer as Buffer,
        ExecutionContext as ExecutionContext,
        ExecutionStage as ExecutionStage,
    )
    from plugjax.experimental.buffer_callback.call import buffer_callback as buffer_callback

# By name, the module that has it: it is loaded when it is asked for, as the plugin beside it is loaded always.
_LATE = {
    "Buffer": ".buffers",
    "ExecutionContext": ".buffers",
    "ExecutionStage": ".buffers",
    "buffer_callback": ".call",
}


if not TYPE_CHECKING:
    # Type checkers report names that do not exist.
    __getattr__ = late(globals(), _LATE)

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]

show_only(globals(), __all__)
