"""Kinds of memory of a device."""

from plugjax.execution.memories import (
    SPACE_KINDS,
    Memory,
    MemorySpace,
    checked_memory_kind,
    memories,
    memory,
)

__all__ = ["SPACE_KINDS", "Memory", "MemorySpace", "checked_memory_kind", "memories", "memory"]
