"""Functions that say how they are split over devices: the names of ``jax.experimental.custom_partitioning``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plugjax.extend.transforms import late, show_only

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
    "custom_partitioning": ".call",
    "custom_partitioning_p": ".primitive",
    "ArrayMapping": ".sharding_rule",
    "BATCHING": ".sharding_rule",
    "CompoundFactor": ".sharding_rule",
    "SdyShardingRule": ".sharding_rule",
}


if not TYPE_CHECKING:
    # Type checkers report names that do not exist.
    __getattr__ = late(globals(), _LATE)

__all__ = [
    "BATCHING",
    "ArrayMapping",
    "CompoundFactor",
    "SdyShardingRule",
    "custom_partitioning",
    "custom_partitioning_p",
]

show_only(globals(), __all__)
