"""``jax.experimental.pallas``: may be imported. A name of it is an object that raises where it is called."""

from __future__ import annotations

from typing import Any

_REFUSAL = (
    "jax.experimental.pallas.{name}: plugjax does not write kernels for Triton and Mosaic. Choose the library's version without "
    "pallas; many have one for processors."
)


# The names that JAX shows there and in ``triton`` and ``tpu``.
_NAMES = [
    "ANY",
    "ARBITRARY",
    "BlockDim",
    "BlockSpec",
    "Blocked",
    "BoundedSlice",
    "BufferType",
    "Buffered",
    "BufferedRef",
    "BufferedRefBase",
    "CMEM",
    "CORE_PARALLEL",
    "ChipVersion",
    "CompilerParams",
    "CoreType",
    "CostEstimate",
    "DeviceIdType",
    "Element",
    "GridDimensionSemantics",
    "GridSpec",
    "HBM",
    "HOST",
    "Indirect",
    "InterpretParams",
    "LoweringException",
    "MemoryRef",
    "MemorySpace",
    "PARALLEL",
    "PrefetchScalarGridSpec",
    "RevisitMode",
    "SEMAPHORE",
    "SMEM",
    "SUBCORE_PARALLEL",
    "SemaphoreType",
    "SideEffectType",
    "Slice",
    "Squeezed",
    "Tiling",
    "TpuInfo",
    "VMEM",
    "VMEM_SHARED",
    "align_to",
    "approx_tanh",
    "async_copy",
    "async_remote_copy",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xchg",
    "atomic_xor",
    "bitcast",
    "broadcast_to",
    "cdiv",
    "core_barrier",
    "core_map",
    "create_tensorcore_mesh",
    "debug_barrier",
    "debug_check",
    "debug_print",
    "delay",
    "dma_semaphore",
    "dot",
    "ds",
    "dslice",
    "einshape",
    "elementwise_inline_asm",
    "emit_pipeline",
    "emit_pipeline_with_allocations",
    "empty",
    "empty_like",
    "empty_ref_like",
    "enable_debug_checks",
    "enable_poison_buffers",
    "estimate_cost",
    "force_tpu_interpret_mode",
    "get_barrier_semaphore",
    "get_global",
    "get_tpu_info",
    "get_tpu_info_for_chip",
    "is_tpu_device",
    "kernel",
    "load",
    "loop",
    "lower_as_mlir",
    "make_async_copy",
    "make_async_remote_copy",
    "matmul_acc_lhs",
    "matmul_pop",
    "matmul_push_rhs",
    "max_contiguous",
    "multiple_of",
    "next_power_of_2",
    "no_block_spec",
    "num_programs",
    "pack_elementwise",
    "pallas_call",
    "pallas_call_p",
    "pallas_export_experimental",
    "prng_random_bits",
    "prng_seed",
    "program_id",
    "reciprocal",
    "reset_tpu_interpret_mode_state",
    "roll",
    "run_on_first_core",
    "run_scoped",
    "run_state",
    "sample_block",
    "select_ref",
    "semaphore",
    "semaphore_read",
    "semaphore_signal",
    "semaphore_wait",
    "set_tpu_interpret_mode",
    "squeezed",
    "stateful_bernoulli",
    "stateful_bits",
    "stateful_normal",
    "stateful_uniform",
    "stochastic_round",
    "store",
    "strides_from_shape",
    "sync_copy",
    "to_pallas_key",
    "touch",
    "trace_value",
    "unpack_elementwise",
    "when",
    "with_memory_space_constraint",
    "with_scoped",
]


class Absent:
    """Stands for a name of pallas.

    Args:
        name: the name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Refuse."""
        raise NotImplementedError(_REFUSAL.format(name=self._name))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")

    def __repr__(self) -> str:
        return f"<{self._name} of pallas, absent>"


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return Absent(name)
    raise AttributeError(name)


def __dir__() -> list[str]:
    return sorted(_NAMES)
