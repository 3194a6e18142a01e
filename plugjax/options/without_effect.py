"""Options of JAX 0.10.2 that are understood and change nothing, each with the reason.

Each keeps JAX's name, default and accepted values. Setting one to something else than its default is a warning that says why
nothing follows, once for each option.
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any

from plugjax.extend.core import Option, boolean


@dataclass(frozen=True)
class WithoutEffect(Option):
    """An option that changes nothing; its ``help`` says why."""

    def check(self, value: Any) -> Any:
        """Return ``value``, with a warning if it asks for something."""
        found = super().check(value)
        if found not in (self.default, "allow"):
            _warn_once(self.name, self.help)
        return found


@functools.cache
def _warn_once(name: str, reason: str) -> None:
    warnings.warn(f"config jax_{name} has no effect: {reason}.", stacklevel=4)


# Why, and the options with their defaults; a tuple holds the accepted values, the default first.
_REASONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("meshes mean one thing here: types say where values vary, Shardy spreads programs, and a mesh may be entered as a context", {
        "auto_pcast": True, "disable_vmap_shmap_error": False,
        "disallow_mesh_context_manager": False, "remove_size_one_mesh_axis_from_type": False,
        "use_shardy_partitioner": True, "remove_custom_partitioning_ptr_from_cache_key": False,
        "sort_devices_by_process_index": True,
    }),
    ("processes are joined by the arguments of distributed.initialize, with gloo between processors", {
        "cpu_collectives_implementation": ("gloo", "mpi", "megascale", None),
        "cpu_get_global_topology_timeout_minutes": 5, "cpu_get_local_topology_timeout_minutes": 2,
        "cross_host_transfer_socket_address": "", "cross_host_transfer_timeout_seconds": None,
        "cross_host_transfer_transfer_size": None, "cross_host_transport_addresses": "", "distributed_debug": False,
        "force_dcn_cross_host_transfers": False, "share_binary_between_hosts": False,
        "share_binary_between_hosts_timeout_ms": 1200000, "thread_guard": False, "check_proxy_envs": True,
    }),
    ("it is for kernels of GPUs or TPUs, of which there are none", {
        "bcoo_cusparse_lowering": False, "mosaic_allow_hlo": False, "pallas_enable_debug_checks": False,
        "pallas_poison_buffers": False, "pallas_use_mosaic_gpu": True, "pallas_verbose_errors": False,
        "ragged_dot_use_gpu_pallas_triton_lowering": False, "ragged_dot_use_ragged_dot_instruction": True,
        "threefry_gpu_kernel_lowering": False, "use_emit_pipeline_primitive": False, "use_magma": ("auto", "on", "off"),
        "refs_to_pins": False, "enable_pgle": False, "pgle_aggregation_percentile": 90, "pgle_profiling_runs": 3,
        "compilation_cache_expect_pgle": False, "mock_gpu_topology": "", "mock_num_gpu_processes": 0,
    }),
    ("backends find their devices themselves; jax_platforms chooses among them", {
        "platform_name": "",
        "cuda_visible_devices": "all", "oneapi_visible_devices": "all", "rocm_visible_devices": "all",
        "backend_target": "", "xla_backend": "", "pjrt_client_create_options": None,
        "debug_leaked_clients_on_clear_backends": False,
    }),
    ("options of a compiler are given to jit or compile, as compiler_options", {
        "compiler_enable_remat_pass": True, "disable_most_optimizations": False, "exec_time_optimization_effort": 0.0,
        "memory_fitting_effort": 0.0, "memory_fitting_level": ("O2", "UNKNOWN", "O0", "O1", "O3"),
        "optimization_level": ("UNKNOWN", "O0", "O1", "O2", "O3"), "xla_profile_version": 0,
        "cpu_enable_async_dispatch": True, "experimental_unsafe_xla_runtime_errors": False,
    }),
    ("the cache on disk is checked by hashes, has no other caches in it, and is bounded by PLUGJAX_CACHE_MAX_BYTES", {
        "compilation_cache_check_contents": False, "compilation_cache_include_metadata_in_key": False,
        "compilation_cache_max_size": -1, "persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
        "persistent_cache_min_compile_time_secs": 1.0, "persistent_cache_min_entry_size_bytes": 0,
        "raise_persistent_cache_errors": False,
    }),
    ("plugjax has one implementation of this transformation, neither JAX's older one nor its newer one", {
        "custom_vjp3": False, "remat3": False, "scan3": False, "use_direct_linearize": True,
        "use_simplified_jaxpr_constants": False, "disable_bwd_checks": False,
        "eager_constant_folding": False, "mutable_array_checks": True, "embedded_constants_max_bytes": 32,
    }),
    ("plugjax writes no TensorFlow programs", {
        "jax2tf_associative_scan_reductions": False, "jax2tf_default_native_serialization": True,
    }),
    ("artifacts have operations whose meaning does not change", {
        "export_ignore_forward_compatibility": False,
        "serialization_version": 0,
    }),
    ("errors and programs name the user's line, and the lines of the framework are left out", {
        "hlo_source_file_canonicalization_regex": None, "include_full_tracebacks_in_locations": True,
        "traceback_in_locations_limit": 100, "tracer_error_num_traceback_frames": 5, "source_url_schema": None,
        "send_traceback_to_runtime": ("off", "on", "full"),
    }),
    ("what is logged is chosen with Python's logging, whose loggers have the names of plugjax's modules", {
        "debug_log_modules": "", "logging_level": "NOTSET", "log_checkpoint_residuals": False,
        "compiler_detailed_logging_min_ops": 10,
    }),
    ("programs are printed without colours", {"pprint_use_color": True}),
    ("indices are checked by experimental.checkify, and errors raised by experimental.error_check", {
        "check_static_indices": False, "error_checking_behavior_divide": ("ignore", "raise"),
        "error_checking_behavior_nan": ("ignore", "raise"), "error_checking_behavior_oob": ("ignore", "raise"),
    }),
    ("a 64-bit dtype becomes one of 32 bits with a warning unless jax_enable_x64 is set", {
        "explicit_x64_dtypes": ("warn", "error", "allow"),
    }),
    ("Python's garbage collector says of no array that it collects it", {
        "array_garbage_collection_guard": (None, "allow", "log", "fatal"),
    }),
)  # fmt: skip


def _option(name: str, values: Any, reason: str) -> Option:
    choices = values if isinstance(values, tuple) else ()
    default = choices[0] if choices else values
    if isinstance(default, bool):
        return WithoutEffect(name, default, boolean, help=reason)
    parse = type(default) if isinstance(default, (int, float)) else str
    return WithoutEffect(name, default, parse, choices, help=reason)


OPTIONS = [_option(name, values, why) for why, rows in _REASONS for name, values in rows.items()]
