"""plugjax: a JAX-compatible array framework whose every part is a plugin.

``import plugjax as jax, plugjax.numpy as jnp`` is the whole port; ``PLUGJAX_BACKEND=numpy|xla|iree`` is the whole switch.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

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
    default_backend,
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
from plugjax.core.array import Array
from plugjax.core.backend import devices
from plugjax.core.config import Config, config
from plugjax.core.device import Backend, Device, Sharding
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr
from plugjax.core.operators import ArrayOperators
from plugjax.core.registry import Registry
from plugjax.execution.compile_time import ensure_compile_time_eval
from plugjax.execution.device_put import device_put
from plugjax.execution.fetching import (
    block_until_ready,
    copy_to_host_async,
    device_get,
    live_arrays,
)
from plugjax.execution.jit.api import clear_caches, eval_shape, jit, make_jaxpr
from plugjax.execution.jit.stages import CompiledFunction, Lowered, Traced
from plugjax.forward_backward import fwd_and_bwd
from plugjax.meshes.mesh import AbstractMesh, Mesh
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
from plugjax.transforms.namespaces import public, publish
from plugjax.transforms.shape_struct import ShapeDtypeStruct

__version__ = "0.1.0"
__version_info__ = (0, 1, 0)


def _attribute(owner: Any, name: str) -> Any:
    return importlib.import_module("plugjax.extend.core.attributes").attribute(owner, name)


_above.find = _attribute


def _flags_of_absl(name: str) -> Callable[..., None]:
    def call(*args: Any) -> None:
        getattr(importlib.import_module("plugjax.options.command_line"), name)(*args)

    return call


for _name in ("config_with_absl", "complete_absl_config", "parse_flags_with_absl"):
    vars(config)[_name] = _flags_of_absl(_name)


def _html(shown: Any) -> str | None:
    found: str | None = importlib.import_module("plugjax.visualize.notebook").html_of(shown)
    return found


# What notebooks ask for: only then is the package of pictures loaded.
for _shown in (ArrayOperators, Jaxpr, ClosedJaxpr, Traced, Lowered, CompiledFunction, Device, Backend, Sharding, Mesh, AbstractMesh, Config, Registry):  # fmt: skip
    setattr(_shown, "_repr_html_", _html)  # noqa: B010  # the classes do not know of it
jacobian = jacrev
remat = checkpoint

# Loaded on first use, so that `import plugjax` costs only what a program uses.
_SUBMODULES = (
    "ad", "ad_checkpoint", "api_util", "checkpoint_policies", "custom_batching", "custom_derivatives",
    "cli", "cloud_tpu_init", "core", "debug", "distributed", "dlpack", "dtypes", "example_libraries", "experimental", "export", "extend",
    "ffi", "flatten_util", "image", "interpreters", "lax", "lib", "memory", "monitoring", "nn", "numpy", "ops", "profiler",
    "random", "ref", "scipy", "sharding", "stablehlo", "stages", "test_util", "testing", "tools", "tree", "tree_util", "typing", "util",
    "version", "visualize",
)  # fmt: skip
_LATE = {
    "allow_f16_reductions": "plugjax.options.contexts",
    "array_garbage_collection_guard": "plugjax.options.contexts",
    "auto_pcast": "plugjax.options.contexts",
    "jax2tf_associative_scan_reductions": "plugjax.options.contexts",
    "remove_size_one_mesh_axis_from_type": "plugjax.options.contexts",
    "softmax_custom_jvp": "plugjax.options.contexts",
    "thread_guard": "plugjax.options.contexts",
    "transfer_guard": "plugjax.options.transfers",
    "transfer_guard_device_to_device": "plugjax.options.transfers",
    "transfer_guard_device_to_host": "plugjax.options.transfers",
    "transfer_guard_host_to_device": "plugjax.options.transfers",
    "make_user_context": "plugjax.options.user_context",
    "effects_barrier": "plugjax.lax.effects",
    "pure_callback": "plugjax.lax.callback",
    "float0": "plugjax.dtypes",
    "host_count": "plugjax.environment",
    "host_id": "plugjax.environment",
    "host_ids": "plugjax.environment",
    "NamedSharding": "plugjax.extend.meshes",
    "P": "plugjax.sharding",
    "Ref": "plugjax.state",
    "Shard": "plugjax.extend.meshes",
    "make_array_from_callback": "plugjax.extend.meshes",
    "make_array_from_process_local_data": "plugjax.extend.meshes",
    "make_array_from_single_device_arrays": "plugjax.extend.meshes",
    "make_mesh": "plugjax.extend.meshes",
    "pmap": "plugjax.lax.sharded.pmap",
    "smap": "plugjax.lax.sharded.pmap",
    "reshard": "plugjax.lax.sharded.resharding",
    "set_mesh": "plugjax.extend.meshes",
    "shard_map": "plugjax.lax.sharded.shard_map",
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


if TYPE_CHECKING:
    from plugjax import (
        ad as ad,
        ad_checkpoint as ad_checkpoint,
        api_util as api_util,
        checkpoint_policies as checkpoint_policies,
        cli as cli,
        cloud_tpu_init as cloud_tpu_init,
        core as core,
        custom_batching as custom_batching,
        custom_derivatives as custom_derivatives,
        debug as debug,
        distributed as distributed,
        dlpack as dlpack,
        dtypes as dtypes,
        example_libraries as example_libraries,
        experimental as experimental,
        export as export,
        extend as extend,
        flatten_util as flatten_util,
        image as image,
        interpreters as interpreters,
        lax as lax,
        lib as lib,
        monitoring as monitoring,
        nn as nn,
        numpy as numpy,
        ops as ops,
        profiler as profiler,
        random as random,
        ref as ref,
        scipy as scipy,
        sharding as sharding,
        stablehlo as stablehlo,
        stages as stages,
        test_util as test_util,
        testing as testing,
        tools as tools,
        tree as tree,
        tree_util as tree_util,
        typing as typing,
        util as util,
        version as version,
        visualize as visualize,
    )
    from plugjax.dtypes import float0 as float0
    from plugjax.environment import (
        host_count as host_count,
        host_id as host_id,
        host_ids as host_ids,
        print_environment_info as print_environment_info,
        process_count as process_count,
        process_index as process_index,
        process_indices as process_indices,
    )
    from plugjax.extend.meshes import (
        NamedSharding as NamedSharding,
        Shard as Shard,
        make_array_from_callback as make_array_from_callback,
        make_array_from_process_local_data as make_array_from_process_local_data,
        make_array_from_single_device_arrays as make_array_from_single_device_arrays,
        make_mesh as make_mesh,
        set_mesh as set_mesh,
    )
    from plugjax.lax.callback import pure_callback as pure_callback
    from plugjax.lax.effects import effects_barrier as effects_barrier
    from plugjax.lax.sharded.pmap import pmap as pmap, smap as smap
    from plugjax.lax.sharded.resharding import reshard as reshard
    from plugjax.lax.sharded.shard_map import shard_map as shard_map
    from plugjax.options.contexts import (
        allow_f16_reductions as allow_f16_reductions,
        array_garbage_collection_guard as array_garbage_collection_guard,
        auto_pcast as auto_pcast,
        jax2tf_associative_scan_reductions as jax2tf_associative_scan_reductions,
        remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type,
        softmax_custom_jvp as softmax_custom_jvp,
        thread_guard as thread_guard,
    )
    from plugjax.options.transfers import (
        transfer_guard as transfer_guard,
        transfer_guard_device_to_device as transfer_guard_device_to_device,
        transfer_guard_device_to_host as transfer_guard_device_to_host,
        transfer_guard_host_to_device as transfer_guard_host_to_device,
    )
    from plugjax.options.user_context import make_user_context as make_user_context
    from plugjax.sharding import P as P
    from plugjax.state import (
        Ref as Ref,
        ds as ds,
        empty_ref as empty_ref,
        free_ref as free_ref,
        freeze as freeze,
        new_ref as new_ref,
    )

if not TYPE_CHECKING:
    # Type checkers report names that do not exist.

    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            return importlib.import_module(f"plugjax.{name}")
        if name in _LATE:
            return public(getattr(importlib.import_module(_LATE[name]), name), __name__, name)
        raise AttributeError(f"module 'plugjax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, *_LATE, "__version__", "__version_info__"})


__all__ = [
    "Array",
    "Device",
    "NamedSharding",
    "P",
    "Ref",
    "ShapeDtypeStruct",
    "Shard",
    "allow_f16_reductions",
    "array_garbage_collection_guard",
    "auto_pcast",
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
    "ds",
    "effects_barrier",
    "empty_ref",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "errors",
    "eval_shape",
    "explain_cache_misses",
    "float0",
    "free_ref",
    "freeze",
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
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_jaxpr",
    "make_mesh",
    "make_user_context",
    "named_call",
    "named_scope",
    "new_ref",
    "no_execution",
    "no_tracing",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "pmap",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
    "pure_callback",
    "remat",
    "remove_size_one_mesh_axis_from_type",
    "reshard",
    "set_mesh",
    "shard_map",
    "smap",
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

publish(globals(), __all__)
