"""Stages of compilation ahead of time: the names of ``jax.stages``."""

from typing import Any, TypeAlias

from plugjax.core.transforms.stages import ArgInfo, Lowered, Traced, Wrapped
from plugjax.core.transforms.stages import CompiledFunction as Compiled

CompilerOptions: TypeAlias = dict[str, Any]

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
