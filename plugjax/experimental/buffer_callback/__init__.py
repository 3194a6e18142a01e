"""Callbacks that write their results to the memory of a device: the names of ``jax.experimental.buffer_callback``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plugjax.experimental.buffer_callback.buffers import (
        Buffer as Buffer,
        ExecutionContext as ExecutionContext,
        ExecutionStage as ExecutionStage,
    )
    from plugjax.experimental.buffer_callback.call import buffer_callback as buffer_callback

# By name, the module that has it: it is loaded when it is asked for, as the plugin beside it is loaded always.
_LATE = {
    "Buffer": "buffers",
    "ExecutionContext": "buffers",
    "ExecutionStage": "buffers",
    "buffer_callback": "call",
}


def __getattr__(name: str) -> Any:
    module = _LATE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]
