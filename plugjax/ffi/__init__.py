"""Calls of foreign functions by XLA's interface: the names of ``jax.ffi``.

A target is a function of native code under a name. XLA finds it when it compiles a program that calls it. Other backends have no such
functions; for them a target may have a function of Python.
"""

from __future__ import annotations

import importlib
from typing import Any

from plugjax.ffi.call import ffi_call
from plugjax.ffi.targets import (
    include_dir,
    pycapsule,
    register_ffi_target,
    register_ffi_target_as_batch_partitionable,
    register_ffi_type,
    register_ffi_type_id,
)

# They write MLIR, and so need jaxlib.
_LOWERING = ("build_ffi_lowering_function", "ffi_lowering")


def __getattr__(name: str) -> Any:
    if name in _LOWERING:
        return getattr(importlib.import_module("plugjax.ffi.lowering"), name)
    raise AttributeError(f"module 'plugjax.ffi' has no attribute {name!r}")


__all__ = [
    "build_ffi_lowering_function",
    "ffi_call",
    "ffi_lowering",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
    "register_ffi_type_id",
]  # fmt: skip
