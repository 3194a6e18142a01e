"""Functions that say how they are split over devices: the names of ``jax.experimental.custom_partitioning``."""

from plugjax.experimental.custom_partitioning.call import custom_partitioning, custom_partitioning_p
from plugjax.experimental.custom_partitioning.sharding_rule import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
)

__all__ = [
    "BATCHING",
    "ArrayMapping",
    "CompoundFactor",
    "SdyShardingRule",
    "custom_partitioning",
    "custom_partitioning_p",
]  # fmt: skip
