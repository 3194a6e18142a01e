"""Shardings by the names of a mesh's axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

from plugjax.core import caches
from plugjax.core.device import Device, Sharding
from plugjax.meshes.errors import DuplicateSpecError
from plugjax.meshes.mesh import AbstractMesh, Mesh
from plugjax.meshes.spec import PartitionSpec, names_of


class NamedSharding(Sharding):
    """An array is cut along axes of a mesh, as a partition spec says.

    Args:
        mesh: a :class:`Mesh`, or an :class:`AbstractMesh` for programs without devices.
        spec: the partition spec.
        memory_kind: the kind of memory, if it is not the usual one.

    Raises:
        ValueError: the spec names an axis that the mesh lacks.
        DuplicateSpecError: it names an axis twice.
        TypeError: ``mesh`` is no mesh, or ``spec`` no partition spec.

    Example:
        >>> import plugjax
        >>> from plugjax.sharding import Mesh, NamedSharding, PartitionSpec as P
        >>> mesh = plugjax.make_mesh((1,), ("x",))
        >>> NamedSharding(mesh, P("x")).shard_shape((8, 2))
        (8, 2)
    """

    __slots__ = ("_hash", "_kind", "mesh", "spec")

    def __init__(
        self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, *, memory_kind: str | None = None
    ) -> None:
        if not isinstance(mesh, (Mesh, AbstractMesh)):
            raise TypeError(f"NamedSharding: expected a Mesh or AbstractMesh, got {mesh!r}.")
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"NamedSharding: expected a PartitionSpec, got {spec!r} of type {type(spec).__name__}."
            )
        seen: set[Any] = set()
        for name in [n for entry in spec for n in names_of(entry)]:
            if name not in mesh.axis_names:
                raise ValueError(
                    f"Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}."
                )
            if name in seen:
                raise DuplicateSpecError(
                    "A single NamedSharding spec specification can map every mesh axis to at most one positional "
                    f"dimension, but {spec} has duplicate entries for `{name}`"
                )
            seen.add(name)
        for name in (*spec.unreduced, *spec.reduced):
            if name not in mesh.axis_names:
                raise ValueError(
                    f"Unreduced or reduced axis: {name} of {spec} is not found in mesh: {mesh.axis_names}."
                )
        self.mesh = mesh
        self.spec = spec
        self._kind = memory_kind
        self._hash = hash((mesh, spec, memory_kind))

    @property
    def memory_kind(self) -> str:
        """The kind of memory."""
        return self._kind or "device"

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices, in the order of the mesh."""
        if isinstance(self.mesh, AbstractMesh):
            raise ValueError("device_set is not implemented for `jax.sharding.AbstractMesh`.")
        return self.mesh.flat_devices

    @property
    def whole(self) -> Sharding:
        """Each device of the mesh has the whole array."""
        return self if not len(self.spec) else NamedSharding(self.mesh, PartitionSpec())

    @property
    def num_devices(self) -> int:
        """How many devices hold a part."""
        return self.mesh.size

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds the whole array."""
        return all(count == 1 for count in self.counts(len(self.spec)))

    @property
    def replicated_axes(self) -> frozenset[Any]:
        """The axes of the mesh along which each device holds the same."""
        used = {name for entry in self.spec for name in names_of(entry)}
        return frozenset(self.mesh.axis_names) - used - self.spec.unreduced

    def entries(self, ndim: int) -> tuple[tuple[Any, ...], ...]:
        """The axes of the mesh that cut each axis of an array of a rank.

        Raises:
            ValueError: the spec is longer than the rank.
        """
        if len(self.spec) > ndim:
            raise ValueError(
                f"Sharding {self} is only valid for values of rank at least {len(self.spec)}, but was applied to a value of "
                f"rank {ndim}. Leave entries out of the spec."
            )
        found = tuple(map(names_of, self.spec))
        return (*found, *((),) * (ndim - len(found)))

    def counts(self, ndim: int) -> tuple[int, ...]:
        """Into how many blocks each axis of an array of this rank is cut."""
        sizes = dict(self.mesh.shape_tuple)
        return tuple(math.prod(sizes[name] for name in names) for names in self.entries(ndim))

    def positions(self, ndim: int) -> Sequence[tuple[int, ...]]:
        """The block that each device holds, as an index for each axis."""
        key = (self.mesh.shape_tuple, self.entries(ndim))
        found: Sequence[tuple[int, ...]] | None = _positions.get(key)
        if found is None:
            found = _positions[key] = _block_positions(*key)
        return found

    def with_memory_kind(self, kind: str) -> NamedSharding:
        """The sharding in another kind of memory."""
        return NamedSharding(self.mesh, self.spec, memory_kind=kind)

    def update(self, **changes: Any) -> NamedSharding:
        """The sharding with another ``mesh``, ``spec`` or ``memory_kind``."""
        return NamedSharding(
            changes.get("mesh", self.mesh),
            changes.get("spec", self.spec),
            memory_kind=changes.get("memory_kind", self._kind),
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, NamedSharding)
            and self._hash == other._hash
            and self.spec == other.spec
            and self.memory_kind == other.memory_kind
            and self.mesh == other.mesh
        )

    def __hash__(self) -> int:
        return self._hash

    def __copy__(self) -> NamedSharding:
        return self

    def __deepcopy__(self, memo: Any) -> NamedSharding:
        return self

    def __repr__(self) -> str:
        return (
            f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}, memory_kind={self.memory_kind})"
        )


_positions = caches.new_cache()


def _block_positions(
    shape: Sequence[tuple[Any, int]], entries: Sequence[tuple[Any, ...]]
) -> list[tuple[int, ...]]:
    names, sizes = [name for name, _ in shape], dict(shape)
    found = []
    for index in product(*(range(size) for _, size in shape)):
        at = dict(zip(names, index, strict=True))
        position = []
        for axes in entries:
            block = 0
            for name in axes:
                block = block * sizes[name] + at[name]
            position.append(block)
        found.append(tuple(position))
    return found
