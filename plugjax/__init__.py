"""plugjax: a JAX-compatible array framework whose every part is a plugin.

``import plugjax as jax, plugjax.numpy as jnp`` is the whole port; ``PLUGJAX_BACKEND=numpy|xla|iree`` is the whole switch.
"""

from __future__ import annotations

import importlib
from typing import Any

from plugjax import errors
from plugjax.calls.checkpoint import checkpoint
from plugjax.calls.closures import closure_convert, custom_gradient
from plugjax.calls.custom_jvp import custom_jvp
from plugjax.calls.custom_vjp import custom_vjp
from plugjax.contexts import (
    check_tracer_leaks,
    checking_leaks,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    device_count,
    disable_jit,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    legacy_prng_key,
    local_device_count,
    local_devices,
    log_compiles,
    named_call,
    named_scope,
    no_execution,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    threefry_partitionable,
    typeof,
)
from plugjax.core import above as _above
from plugjax.core.array import Array, device_put
from plugjax.core.backend import default_backend, devices
from plugjax.core.config import config
from plugjax.core.device import Device
from plugjax.execution.compile_time import ensure_compile_time_eval
from plugjax.execution.fetching import (
    block_until_ready,
    copy_to_host_async,
    device_get,
    live_arrays,
)
from plugjax.execution.jit.api import clear_caches, eval_shape, jit, make_jaxpr
from plugjax.forward_backward import fwd_and_bwd
from plugjax.transforms.batching import vmap
from plugjax.transforms.grad import (
    grad,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from plugjax.transforms.jacobian import hessian, jacfwd, jacrev
from plugjax.transforms.shape_struct import ShapeDtypeStruct

__version__ = "0.1.0"
__version_info__ = (0, 1, 0)


def _attribute(owner: Any, name: str) -> Any:
    return importlib.import_module("plugjax.extend.core.attributes").attribute(owner, name)


_above.find = _attribute
jacobian = jacrev
remat = checkpoint

# Loaded on first use, so that `import plugjax` costs only what a program uses.
_SUBMODULES = (
    "ad", "ad_checkpoint", "api_util", "checkpoint_policies", "custom_batching", "custom_derivatives",
    "cli", "cloud_tpu_init", "core", "debug", "dlpack", "dtypes", "example_libraries", "experimental", "export", "extend",
    "ffi", "flatten_util", "image", "interpreters", "lax", "lib", "memory", "monitoring", "nn", "numpy", "ops", "profiler",
    "random", "ref", "scipy", "stablehlo", "stages", "test_util", "testing", "tools", "tree", "tree_util", "typing", "util",
    "version",
)  # fmt: skip
_LATE = {
    "allow_f16_reductions": "plugjax.options.contexts",
    "array_garbage_collection_guard": "plugjax.options.contexts",
    "jax2tf_associative_scan_reductions": "plugjax.options.contexts",
    "remove_size_one_mesh_axis_from_type": "plugjax.options.contexts",
    "softmax_custom_jvp": "plugjax.options.contexts",
    "thread_guard": "plugjax.options.contexts",
    "transfer_guard": "plugjax.options.contexts",
    "transfer_guard_device_to_device": "plugjax.options.contexts",
    "transfer_guard_device_to_host": "plugjax.options.contexts",
    "transfer_guard_host_to_device": "plugjax.options.contexts",
    "make_user_context": "plugjax.options.user_context",
    "effects_barrier": "plugjax.lax.effects",
    "pure_callback": "plugjax.lax.callback",
    "float0": "plugjax.dtypes",
    "host_count": "plugjax.environment",
    "host_id": "plugjax.environment",
    "host_ids": "plugjax.environment",
    "Ref": "plugjax.state",
    "ds": "plugjax.state",
    "empty_ref": "plugjax.state",
    "free_ref": "plugjax.state",
    "freeze": "plugjax.state",
    "new_ref": "plugjax.state",
    "print_environment_info": "plugjax.environment",
    "process_count": "plugjax.environment",
    "process_index": "plugjax.environment",
    "process_indices": "plugjax.environment",
}


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"plugjax.{name}")
    if name in _LATE:
        return getattr(importlib.import_module(_LATE[name]), name)
    raise AttributeError(f"module 'plugjax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES, *_LATE})


__all__ = [
    "Array",
    "Device",
    "ShapeDtypeStruct",
    "allow_f16_reductions",
    "array_garbage_collection_guard",
    "block_until_ready",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "clear_caches",
    "closure_convert",
    "config",
    "copy_to_host_async",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "effects_barrier",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "explain_cache_misses",
    "float0",
    "fwd_and_bwd",
    "grad",
    "hessian",
    "host_count",
    "host_id",
    "host_ids",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jax2tf_associative_scan_reductions",
    "jit",
    "jvp",
    "legacy_prng_key",
    "linear_transpose",
    "linearize",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_jaxpr",
    "make_user_context",
    "named_call",
    "named_scope",
    "no_execution",
    "no_tracing",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
    "pure_callback",
    "remat",
    "remove_size_one_mesh_axis_from_type",
    "softmax_custom_jvp",
    "thread_guard",
    "threefry_partitionable",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
    "typeof",
    "value_and_grad",
    "vjp",
    "vmap",
]  # fmt: skip
