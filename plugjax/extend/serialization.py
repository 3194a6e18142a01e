"""Compiled functions taken apart, and made again from their parts."""

from plugjax.execution.serialization import (
    CompiledForm,
    CompiledParts,
    Serializable,
    function_of,
    parts_of,
    placement_of,
)

__all__ = [
    "CompiledForm",
    "CompiledParts",
    "Serializable",
    "function_of",
    "parts_of",
    "placement_of",
]
