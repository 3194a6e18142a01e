"""Shardings by the names of a mesh's axes."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set as AbstractSet
from itertools import product
from typing import Any

from plugjax.core import caches
from plugjax.core.aval import ShapedArray
from plugjax.core.device import Device, Sharding
from plugjax.meshes.errors import DuplicateSpecError
from plugjax.meshes.manual import reduced_axes, unreduced_axes, varying_axes
from plugjax.meshes.mesh import AbstractMesh, AxisType, Mesh
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
        if memory_kind is not None and isinstance(mesh, Mesh) and not mesh.empty:
            mesh.flat_devices[0].checked_memory_kind(memory_kind)
        self._kind = memory_kind
        self._hash = hash((mesh, spec, memory_kind or "device"))

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
        if not len(self.spec):
            return self
        return NamedSharding(self.mesh, PartitionSpec(), memory_kind=self._kind)

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

    def spread(self, ndim: int) -> NamedSharding | None:
        """What the type of an array of rank ``ndim`` says if this stands in it.

        Raises:
            ValueError: the mesh has devices.
        """
        if isinstance(self.mesh, Mesh):
            raise ValueError(
                f"Mesh of an aval must be an AbstractMesh. Got {self.mesh} of type {type(self.mesh)}"
            )
        return explicit_part(self.mesh, self.spec, ndim)

    def over(self, mesh: Mesh | AbstractMesh) -> NamedSharding:
        """The same cuts of the devices of ``mesh``; within ``use_abstract_mesh`` a program may give them other axes."""
        own = self.mesh
        if isinstance(mesh, Mesh) and own.shape_tuple != mesh.shape_tuple and own.size == mesh.size:
            devices = mesh.devices.reshape(own.axis_sizes)
            mesh = Mesh(devices, own.axis_names, own.axis_types)
        return NamedSharding(mesh, self.spec)

    def typed(self, aval: ShapedArray) -> ShapedArray:
        """The type of an array that is spread so: explicit axes of the mesh stand in it."""
        found = explicit_part(self.mesh, self.spec, aval.ndim)
        return aval if found is aval.spread else aval.update(spread=found)

    def text(self, aval: ShapedArray) -> str:
        """Sizes of an aval with the names that cut them: ``[8@x,4]``."""
        return text_of(self.mesh, self.spec, aval)

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
        kind = None if isinstance(self.mesh, AbstractMesh) else self.memory_kind
        words = "" if kind is None else f", memory_kind={kind}"
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{words})"


_positions = caches.new_cache()
_explicit: dict[Any, NamedSharding | None] = {}


def explicit_part(
    mesh: Mesh | AbstractMesh, spec: PartitionSpec, ndim: int
) -> NamedSharding | None:
    """What types of arrays of a rank say of a partition spec: its explicit axes, over the abstract mesh. Interned.

    ``None`` if there are none: each device has the array whole.
    """
    if AxisType.Explicit not in mesh.axis_types:
        return None
    key = (mesh.abstract_mesh, spec, ndim)
    if key not in _explicit:
        explicit = set(mesh.explicit_axes)
        entries = [tuple(n for n in names_of(entry) if n in explicit) for entry in spec]
        entries += [()] * (ndim - len(entries))
        found = PartitionSpec(
            *(e[0] if len(e) == 1 else e or None for e in entries),
            unreduced=spec.unreduced & explicit,
            reduced=spec.reduced & explicit,
        )
        trivial = not (any(entries) or found.unreduced or found.reduced)
        made = None if trivial else NamedSharding(mesh.abstract_mesh, found)
        own = (mesh.abstract_mesh, found, ndim)
        _explicit[key] = _explicit.setdefault(own, made)
    return _explicit[key]


def text_of(mesh: Mesh | AbstractMesh, spec: PartitionSpec, aval: ShapedArray) -> str:
    """Sizes of an aval with the names that cut them, and the axes over which values are to be summed: ``[8@x,4]{U:y}``."""
    entries = [*spec, *[None] * (aval.ndim - len(spec))]
    cuts = [f"@{_joined(names)}" if (names := names_of(entry)) else "" for entry in entries]
    sizes = ",".join(f"{size}{cut}" for size, cut in zip(aval.shape, cuts, strict=True))
    vma = aval.vma
    marks = [
        ("V", varying_axes(vma)),
        ("U", spec.unreduced | unreduced_axes(vma)),
        ("R", spec.reduced | reduced_axes(vma)),
    ]
    words = ", ".join(
        f"{letter}:{_joined(_ordered(names, mesh.axis_names))}" for letter, names in marks if names
    )
    return f"[{sizes}]{{{words}}}" if words else f"[{sizes}]"


def _ordered(names: AbstractSet[Any], order: Sequence[Any]) -> list[Any]:
    return [*(n for n in order if n in names), *sorted(names - set(order), key=str)]


def _joined(names: Sequence[Any]) -> str:
    return str(names[0]) if len(names) == 1 else f"({','.join(map(str, names))})"


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
