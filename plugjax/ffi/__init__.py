"""Calls of foreign functions by XLA's interface: the names of ``jax.ffi``.

A target is a function of native code under a name. XLA finds it when it compiles a program that calls it. Other backends have no such
functions; for them a target may have a function of Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugjax.extend.transforms import late, show_only

if TYPE_CHECKING:
    from plugjax.ffi.call import ffi_call as ffi_call
    from plugjax.ffi.lowering import (
        build_ffi_lowering_function as build_ffi_lowering_function,
        ffi_lowering as ffi_lowering,
    )
    from plugjax.ffi.targets import (
        include_dir as include_dir,
        pycapsule as pycapsule,
        register_ffi_target as register_ffi_target,
        register_ffi_target_as_batch_partitionable as register_ffi_target_as_batch_partitionable,
        register_ffi_type as register_ffi_type,
        register_ffi_type_id as register_ffi_type_id,
    )

# By name, the module that has it: it is loaded when it is asked for, as the plugin beside it is loaded always.
_LATE = {
    "ffi_call": ".call",
    "build_ffi_lowering_function": ".lowering",
    "ffi_lowering": ".lowering",
    "include_dir": ".targets",
    "pycapsule": ".targets",
    "register_ffi_target": ".targets",
    "register_ffi_target_as_batch_partitionable": ".targets",
    "register_ffi_type": ".targets",
    "register_ffi_type_id": ".targets",
}


if not TYPE_CHECKING:
    # Type checkers report names that do not exist.
    __getattr__ = late(globals(), _LATE)

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
]

show_only(globals(), __all__)
