"""Stages of compilation ahead of time: the names of ``jax.stages``."""

from typing import Any, TypeAlias

from plugjax.execution.jit.stages import (
    ArgInfo,
    CompiledFunction as Compiled,
    Lowered,
    Traced,
    Wrapped,
)
from plugjax.extend.transforms import show_only

CompilerOptions: TypeAlias = dict[str, Any]

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]

show_only(globals(), __all__)
