"""Kinds of memory: the names of ``jax.memory``."""

from plugjax.execution.memories import MemorySpace as Space

__all__ = ["Space"]
