"""Evaluation, compilation, and the cache of compilations."""

from plugjax.execution.compilation_cache import CompilationCache, default_cache
from plugjax.execution.compile import Compiled, run_passes
from plugjax.execution.compile_time import ensure_compile_time_eval
from plugjax.execution.dialects import backend_for_hardware
from plugjax.execution.eager_functions import eager_operations, eager_program
from plugjax.execution.eval import EvalTrace
from plugjax.execution.exporter import Exporter, exporter
from plugjax.execution.host_kernels import scalar_kernel
from plugjax.execution.host_math import QUIET, SILENT, enter, leave
from plugjax.execution.instruments import instrumented
from plugjax.execution.jit.api import clear_caches, eval_shape, jit, make_jaxpr
from plugjax.execution.jit.misses import CacheMiss, TraceKey
from plugjax.execution.jit.stages import ArgInfo, CompiledFunction, Lowered, Traced, Wrapped
from plugjax.execution.jobs import Job
from plugjax.execution.out_of_memory import largest_value, out_of_memory
from plugjax.execution.storage import Storage, storage, storage_of
from plugjax.execution.string_arrays import is_string_array
from plugjax.execution.threads import settings_of_this_thread
from plugjax.execution.tiered import in_background
from plugjax.execution.transfers import Transfer, array_of_values, explicit_transfers
from plugjax.transforms.argument_names import argument_names

__all__ = [
    "QUIET",
    "SILENT",
    "ArgInfo",
    "CacheMiss",
    "CompilationCache",
    "Compiled",
    "CompiledFunction",
    "EvalTrace",
    "Exporter",
    "Job",
    "Lowered",
    "Storage",
    "TraceKey",
    "Traced",
    "Transfer",
    "Wrapped",
    "argument_names",
    "array_of_values",
    "backend_for_hardware",
    "clear_caches",
    "default_cache",
    "eager_operations",
    "eager_program",
    "ensure_compile_time_eval",
    "enter",
    "eval_shape",
    "explicit_transfers",
    "exporter",
    "in_background",
    "instrumented",
    "is_string_array",
    "jit",
    "largest_value",
    "leave",
    "make_jaxpr",
    "out_of_memory",
    "run_passes",
    "scalar_kernel",
    "settings_of_this_thread",
    "storage",
    "storage_of",
]
