"""Kinds of memory of a device."""

from plugjax.execution.memories import Memory, MemorySpace, memories, memory

__all__ = ["Memory", "MemorySpace", "memories", "memory"]
