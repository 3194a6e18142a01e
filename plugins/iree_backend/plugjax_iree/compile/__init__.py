"""From StableHLO text to IREE's bytecode. Importing this loads neither the compiler nor jaxlib."""

from plugjax_iree.compile.compiler import compile_stablehlo, compiler_fingerprint
from plugjax_iree.compile.pipeline import CompileError, Diagnostic
from plugjax_iree.compile.target import CompileTarget

__all__ = [
    "CompileError",
    "CompileTarget",
    "Diagnostic",
    "compile_stablehlo",
    "compiler_fingerprint",
]
