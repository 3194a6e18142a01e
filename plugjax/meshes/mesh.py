"""Meshes: devices in an array whose axes have names."""

from __future__ import annotations

import enum
import functools
import math
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax.core.config import config
from plugjax.core.device import Device


class AxisType(enum.Enum):
    """Who decides how arrays are spread along an axis of a mesh.

    Attributes:
        Auto: the compiler, save where constraints say it.
        Explicit: the types of the values.
        Manual: the user, who writes the program of one device (``shard_map``).
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class AbstractDevice:
    """What the devices of an abstract mesh are.

    Attributes:
        device_kind: words of their hardware.
        num_cores: cores of each, if that is known.
        platform: the kind of hardware.
    """

    device_kind: str
    num_cores: int | None
    platform: str = ""


class _Axes:
    """What concrete and abstract meshes share: named axes with sizes and types."""

    __slots__ = ("__weakref__", "axis_names", "axis_sizes", "axis_types")

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """Sizes of the axes by name."""
        return OrderedDict(self.shape_tuple)

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """Pairs of name and size."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """Number of devices."""
        return math.prod(self.axis_sizes) if self.axis_sizes else 0

    @property
    def empty(self) -> bool:
        """Whether it has no axes."""
        return not self.axis_names

    def axes_of_type(self, kind: AxisType) -> tuple[Any, ...]:
        """Names of the axes of a type."""
        return tuple(
            name for name, t in zip(self.axis_names, self.axis_types, strict=True) if t is kind
        )

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        """Names of the axes that the compiler decides on."""
        return self.axes_of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        """Names of the axes that stand in types."""
        return self.axes_of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        """Names of the axes along which the user writes the program of one device."""
        return self.axes_of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        """Whether all axes are ``Auto``."""
        return bool(self.axis_types) and set(self.axis_types) == {AxisType.Auto}

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether all axes are ``Explicit``."""
        return bool(self.axis_types) and set(self.axis_types) == {AxisType.Explicit}

    @property
    def are_all_axes_manual(self) -> bool:
        """Whether all axes are ``Manual``."""
        return bool(self.axis_types) and set(self.axis_types) == {AxisType.Manual}

    def _described(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple)
        if not axes:
            return "()"
        types = ", ".join(map(repr, self.axis_types))
        return f"{axes}, axis_types=({types}{',' if len(self.axis_types) == 1 else ''})"


def _checked_types(axis_names: tuple[Any, ...], axis_types: Any) -> tuple[AxisType, ...]:
    if axis_types is None:
        return (AxisType.Auto,) * len(axis_names)
    if isinstance(axis_types, AxisType):
        axis_types = (axis_types,)
    if not isinstance(axis_types, (tuple, list)) or not all(
        isinstance(t, AxisType) for t in axis_types
    ):
        raise TypeError(
            f"axis_types passed to the mesh must be of type AxisType, one for each axis; got {axis_types!r}."
        )
    if len(axis_types) != len(axis_names):
        raise ValueError(
            f"Number of axis names should match the number of axis_types. Got axis_names={axis_names} and "
            f"axis_types={axis_types}"
        )
    return tuple(axis_types)


class AbstractMesh(_Axes):
    """A mesh without devices: names, sizes and types of axes. Programs can be traced and lowered for it.

    Args:
        axis_sizes: the sizes.
        axis_names: the names.
        axis_types: the types, ``Auto`` unless given.
        abstract_device: what its devices are, if that is known.

    Example:
        >>> from plugjax.sharding import AbstractMesh
        >>> AbstractMesh((4, 2), ("x", "y")).size
        8
    """

    __slots__ = ("abstract_device",)

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: str | Sequence[Any],
        axis_types: Any = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ) -> None:
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        self.axis_sizes = tuple(axis_sizes)
        self.axis_types = _checked_types(self.axis_names, axis_types)
        self.abstract_device = abstract_device
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(
                f"AbstractMesh: there are {len(self.axis_sizes)} sizes, {self.axis_sizes}, for "
                f"{len(self.axis_names)} names, {self.axis_names}."
            )

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """Itself."""
        return self

    def update(self, **changes: Any) -> AbstractMesh:
        """The mesh with other ``axis_sizes``, ``axis_names`` or ``axis_types``."""
        given: dict[str, Any] = {"axis_sizes": self.axis_sizes, "axis_names": self.axis_names}
        given |= {"axis_types": self.axis_types, "abstract_device": self.abstract_device}
        return AbstractMesh(**(given | changes))

    def update_axis_types(self, name_to_type: Mapping[Any, AxisType]) -> AbstractMesh:
        """The mesh with other types for some names."""
        kinds = zip(self.axis_names, self.axis_types, strict=True)
        return self.update(axis_types=tuple(name_to_type.get(name, kind) for name, kind in kinds))

    @property
    def devices(self) -> Any:
        """Refused: an abstract mesh has none."""
        raise ValueError("AbstractMesh has no devices. Make a Mesh of them.")

    def _key(self) -> tuple[Any, ...]:
        return self.axis_sizes, self.axis_names, self.axis_types, self.abstract_device

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, AbstractMesh) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def __deepcopy__(self, memo: Any) -> AbstractMesh:
        return self

    def __repr__(self) -> str:
        if self.abstract_device is None:
            axes = self._described()
            return f"AbstractMesh({'(), axis_types=()' if axes == '()' else axes})"
        found = self.abstract_device
        return (
            f"AbstractMesh({self._described()}, device_kind={found.device_kind}, "
            f"num_cores={found.num_cores}, platform={found.platform})"
        )


class Mesh(_Axes):
    """Devices in an array whose axes have names.

    Args:
        devices: an array, or a sequence, of devices of one backend, of the mesh's shape.
        axis_names: a name for each axis.
        axis_types: an :class:`AxisType` for each axis; ``Auto`` unless given.

    Raises:
        ValueError: there are not as many names as axes, or a name occurs twice.
        TypeError: something is no device.

    Differs from JAX:
        A name or a device that occurs twice is an error; JAX makes such a mesh, and fails later.

    Example:
        >>> import plugjax
        >>> plugjax.sharding.Mesh(plugjax.devices("numpy"), ("x",))
        Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Auto,))
    """

    __slots__ = ("__dict__", "_hash", "devices")

    devices: np.ndarray[Any, Any]

    def __init__(
        self, devices: Any, axis_names: str | Sequence[Hashable], axis_types: Any = None
    ) -> None:
        array = np.array(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if array.ndim != len(names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of its second argument "
                f"(`axis_names`), but got devices.ndim == {array.ndim} and len(axis_names) == {len(names)}."
            )
        if len(set(names)) != len(names) or None in names:
            raise ValueError(f"Mesh: the names of axes must differ and none be None, got {names}.")
        flat = list(array.flat) if names else []
        for each in flat:
            if not isinstance(each, Device):
                raise TypeError(
                    f"Mesh: expected devices, got {each!r} of type {type(each).__name__}."
                )
        if len(set(flat)) != len(flat):
            raise ValueError(
                f"Mesh: a device occurs twice among {', '.join(map(str, flat))}. Each holds one part of an array."
            )
        if len({each.backend.name for each in flat}) > 1:
            raise ValueError(
                f"Mesh: the devices belong to several backends: {', '.join(map(str, flat))}. "
                "Take those of one, plugjax.devices(name)."
            )
        array.flags.writeable = False
        self.devices = array
        self.axis_names = names
        self.axis_sizes = array.shape
        self.axis_types = _checked_types(names, axis_types)
        self._hash = hash((names, self.axis_sizes, self.axis_types, *map(id, flat)))

    @functools.cached_property
    def flat_devices(self) -> tuple[Device, ...]:
        """The devices in the order of the mesh."""
        return tuple(self.devices.flat) if self.axis_names else ()

    @functools.cached_property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        if not self.axis_names:
            return NO_ABSTRACT_MESH
        first = self.flat_devices[0]
        kind = AbstractDevice(first.platform, None, first.platform)
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types, abstract_device=kind)

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """The ids of the devices, in the mesh's shape."""
        ids = [device.id for device in self.devices.flat]
        return np.array(ids, np.int64).reshape(self.devices.shape)

    @property
    def local_devices(self) -> list[Device]:
        """The devices of this process."""
        return [d for d in self.flat_devices if d.process_index == d.backend.processes[0]]

    @property
    def local_mesh(self) -> Mesh:
        """The part of the mesh in this process.

        Raises:
            ValueError: the devices of this process are no block of the mesh.
        """
        own = np.vectorize(lambda d: d.process_index == d.backend.processes[0])(self.devices)
        if not own.any():
            raise ValueError(f"{self} has no device of this process.")
        index = tuple(slice(i.min(), i.max() + 1) for i in np.nonzero(own))
        if not own[index].all():
            raise ValueError(
                f"the devices of this process are no block of {self}. Arrange them by process, as make_mesh does."
            )
        return Mesh(self.devices[index], self.axis_names, self.axis_types)

    @property
    def is_multi_process(self) -> bool:
        """Whether other processes have devices of it."""
        return len({device.process_index for device in self.flat_devices}) > 1

    def update(self, **changes: Any) -> Mesh:
        """The mesh with other ``devices``, ``axis_names`` or ``axis_types``."""
        given: dict[str, Any] = {"devices": self.devices, "axis_names": self.axis_names}
        return Mesh(**(given | {"axis_types": self.axis_types} | changes))

    def __enter__(self) -> Mesh:
        """Names in partition specs mean this mesh's axes within the block."""
        self.__dict__.setdefault("entered", []).append(config.put("physical_mesh", self))
        return self

    def __exit__(self, *_: object) -> None:
        self.__dict__["entered"].pop()()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Mesh)
            and self._hash == other._hash
            and self.axis_names == other.axis_names
            and self.axis_types == other.axis_types
            and self.axis_sizes == other.axis_sizes
            and self.flat_devices == other.flat_devices
        )

    def __hash__(self) -> int:
        return self._hash

    def __copy__(self) -> Mesh:
        return self

    def __deepcopy__(self, memo: Any) -> Mesh:
        # Devices are what they are.
        return self

    def __repr__(self) -> str:
        if not self.axis_names:
            return "Mesh(axis_sizes=(), axis_names=())"
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, axis_types={self.axis_types})"

    def __str__(self) -> str:
        return f"Mesh({self._described()})"


NO_ABSTRACT_MESH = AbstractMesh((), ())
NO_MESH = Mesh(np.empty((), object), ())
