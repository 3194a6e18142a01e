"""Errors about shardings."""


class DuplicateSpecError(Exception):
    """A partition spec names an axis of a mesh twice.

    Example:
        >>> from plugjax.sharding import AbstractMesh, NamedSharding, PartitionSpec as P
        >>> NamedSharding(AbstractMesh((2,), ("x",)), P("x", "x"))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        plugjax.meshes.errors.DuplicateSpecError: A single NamedSharding spec specification can map every mesh axis ...
    """


class IndivisibleError(ValueError):
    """An axis of an array cannot be cut into equal blocks."""


class ShardingTypeError(Exception):
    """Types that say how values are spread do not go together, or leave open how a result is spread."""
