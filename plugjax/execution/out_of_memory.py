"""What is raised where the host has no memory for a result."""

from __future__ import annotations

from plugjax.core.errors import JaxRuntimeError


def out_of_memory(error: MemoryError) -> JaxRuntimeError:
    """NumPy's error as JAX's."""
    return JaxRuntimeError(f"RESOURCE_EXHAUSTED: Out of memory on the host: {error}.")
