"""Functions that say how they are split over devices: the names of ``jax.experimental.custom_partitioning``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plugjax.experimental.custom_partitioning.call import (
        custom_partitioning as custom_partitioning,
    )
    from plugjax.experimental.custom_partitioning.primitive import (
        custom_partitioning_p as custom_partitioning_p,
    )
    from plugjax.experimental.custom_partitioning.sharding_rule import (
        BATCHING as BATCHING,
        ArrayMapping as ArrayMapping,
        CompoundFactor as CompoundFactor,
        SdyShardingRule as SdyShardingRule,
    )

# By name, the module that has it: it is loaded when it is asked for, as the plugin beside it is loaded always.
_LATE = {
    "custom_partitioning": "call",
    "custom_partitioning_p": "primitive",
    "ArrayMapping": "sharding_rule",
    "BATCHING": "sharding_rule",
    "CompoundFactor": "sharding_rule",
    "SdyShardingRule": "sharding_rule",
}


def __getattr__(name: str) -> Any:
    module = _LATE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "BATCHING",
    "ArrayMapping",
    "CompoundFactor",
    "SdyShardingRule",
    "custom_partitioning",
    "custom_partitioning_p",
]
