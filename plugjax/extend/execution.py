"""Evaluation, compilation, and the cache of compilations."""

from plugjax.execution.compilation_cache import CompilationCache, default_cache
from plugjax.execution.compile import Compiled, run_passes
from plugjax.execution.compile_time import ensure_compile_time_eval
from plugjax.execution.eager_functions import eager_program
from plugjax.execution.eval import EvalTrace
from plugjax.execution.exporter import Exporter, exporter
from plugjax.execution.host_kernels import scalar_kernel
from plugjax.execution.host_math import QUIET, SILENT, enter, leave
from plugjax.execution.instruments import instrumented
from plugjax.execution.jit.api import clear_caches, eval_shape, jit, make_jaxpr
from plugjax.execution.jit.misses import CacheMiss, TraceKey
from plugjax.execution.jit.parameters import argument_names
from plugjax.execution.jit.stages import ArgInfo, CompiledFunction, Lowered, Traced, Wrapped
from plugjax.execution.storage import Storage, storage, storage_of

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
    "Lowered",
    "Storage",
    "TraceKey",
    "Traced",
    "Wrapped",
    "argument_names",
    "clear_caches",
    "default_cache",
    "eager_program",
    "ensure_compile_time_eval",
    "enter",
    "eval_shape",
    "exporter",
    "instrumented",
    "jit",
    "leave",
    "make_jaxpr",
    "run_passes",
    "scalar_kernel",
    "storage",
    "storage_of",
]
