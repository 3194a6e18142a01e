"""NVIDIA GPUs as XLA's compiler needs them described, where there is none to ask: the protocol buffer ``GpuTargetConfigProto`` as text.

The figures are those of the specifications that XLA keeps for these GPUs (``xla/backends/gpu/target_config/specs``).
"""

from __future__ import annotations

_TEXT = """\
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {shared_memory_per_core}
  threads_per_core_limit: 2048
  core_count: {core_count}
  fpus_per_core: {fpus_per_core}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {memory_bandwidth}
  l2_cache_size: {l2_cache_size}
  clock_rate_ghz: {clock_rate_ghz}
  device_memory_size: {device_memory_size}
  shared_memory_per_block_optin: {shared_memory_per_block_optin}
  cuda_compute_capability {{ major: {major} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 }}
device_description_str: "{description}"
"""

_GPUS = {
    "a100": {
        "description": "NVIDIA A100-SXM4-80GB", "major": 8, "core_count": 108, "fpus_per_core": 64,
        "shared_memory_per_core": 167936, "shared_memory_per_block_optin": 166912, "memory_bandwidth": 2039040000000,
        "l2_cache_size": 41943040, "clock_rate_ghz": 1.41, "device_memory_size": 85100068864,
    },
    "h100": {
        "description": "NVIDIA H100 80GB HBM3", "major": 9, "core_count": 132, "fpus_per_core": 128,
        "shared_memory_per_core": 233472, "shared_memory_per_block_optin": 232448, "memory_bandwidth": 3352320000000,
        "l2_cache_size": 52428800, "clock_rate_ghz": 1.98, "device_memory_size": 84942979072,
    },
}  # fmt: skip


def target_config(name: str) -> str:
    """The description of a GPU by name.

    Raises:
        ValueError: there is none of this name.
    """
    if name not in _GPUS:
        raise ValueError(
            f"XLA: no description of a GPU {name!r}; there are {', '.join(_GPUS)}. Give another one's with target_config=, as the text of XLA's "
            "GpuTargetConfigProto. IREE compiles for architectures by name: iree:cuda:sm_80."
        )
    return _TEXT.format_map(_GPUS[name])
