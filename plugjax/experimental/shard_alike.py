"""Values that are split alike: the name of ``jax.experimental.shard_alike``."""

from plugjax.experimental.annotations.alike import shard_alike

__all__ = ["shard_alike"]
