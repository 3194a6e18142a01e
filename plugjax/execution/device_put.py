"""Moving values to devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from plugjax.core import dtypes, pytree
from plugjax.core.array import Array, as_array, default_placement, transfer, transfers
from plugjax.core.aval import ShapedArray, aval_of_value
from plugjax.core.backend import as_device
from plugjax.core.device import Device, Sharding
from plugjax.core.primitive import Primitive, Tracer
from plugjax.execution.layouts import sharding_of
from plugjax.execution.memories import SPACE_KINDS, MemorySpace
from plugjax.execution.string_arrays import is_string_array, string_array
from plugjax.execution.transfers import asked, explicit_transfers
from plugjax.meshes.context import mesh_of_specs
from plugjax.meshes.geometry import check_compatible_aval
from plugjax.meshes.named import NamedSharding
from plugjax.meshes.spec import PartitionSpec
from plugjax.transforms.prefixes import broadcast_prefix

# What `device_put` of a traced value is; its rules, like all rules, are a plugin's.
device_put_p = Primitive("device_put", multiple_results=True, structured=True)


def as_target(target: Any) -> Device | Sharding:
    """Where values go: a device or a sharding, from one of these, a device's name or a partition spec.

    Raises:
        ValueError: another value, or a spec while no mesh is in force.
    """
    target = sharding_of(target, "device_put")
    if isinstance(target, (Device, Sharding)):
        return target
    if isinstance(target, PartitionSpec):
        mesh = mesh_of_specs()
        if mesh is None:
            raise ValueError(
                "Please set a mesh via `plugjax.set_mesh` if a PartitionSpec is passed to device_put, or pass a NamedSharding."
            )
        return NamedSharding(mesh, target)
    return as_device(target)


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """Move a pytree of arrays to a device, or spread it over several.

    Args:
        x: pytree of array-likes.
        device: a Device, a sharding, a format, a partition spec of the mesh in force, or a name such as ``"iree:local:0"``; ``None``
            leaves placement to defaults. Or a pytree prefix of ``x`` with one for each part.
        src: accepted as in JAX: an array knows where it is.
        donate: a permission to use the memory of ``x``, of which nothing is made.
        may_alias: whether memory may be shared. It is where both devices see it: arrays do not change.

    Returns:
        The pytree with Arrays committed to the device.

    Raises:
        ValueError: an array cannot be cut into equal blocks as the sharding says; nothing is moved then.

    Example:
        >>> import plugjax
        >>> plugjax.device_put(1.5, "numpy").device
        Device(numpy:0)
    """
    del src
    if donate is True and may_alias is True:
        raise ValueError("device_put: what is donated has no alias. Leave may_alias or donate out.")
    for flag in (donate, may_alias):
        if not isinstance(flag, (bool, type(None))):
            _for_each_leaf("device_put", flag, x)
    if transfers and not asked.explicit:
        with explicit_transfers():
            return device_put(x, device, donate=donate, may_alias=may_alias)
    leaves, tree = pytree.flatten(x)
    if isinstance(device, (tuple, list, dict)):
        targets = _for_each_leaf("device_put", device, x)
    else:
        targets = [device] * len(leaves)
    places = [
        _in_space(target, leaf) if isinstance(target, MemorySpace)
        else None if sharding_of(target, "device_put") is None
        else as_target(target)
        for target, leaf in zip(targets, leaves, strict=True)
    ]  # fmt: skip
    arrays = [_as_array(leaf, place) for leaf, place in zip(leaves, places, strict=True)]
    for i, (array, place) in enumerate(zip(arrays, places, strict=True)):
        if isinstance(place, Sharding):
            _check(place, array, pytree.paths_of(tree)[i])
    return pytree.unflatten(tree, list(map(_moved, arrays, places)))


class _Uncopied:
    """A NumPy array that is copied as it is spread, part by part."""

    def __init__(self, value: np.ndarray[Any, Any], aval: ShapedArray) -> None:
        self.value = value
        self.aval = aval

    def spread(self, sharding: Sharding) -> Array:
        """The array, spread."""
        placement = sharding.committed
        aval = sharding.typed(self.aval)
        return Array(aval, placement, None, placement.backend.spread(self.value, sharding))


def _as_array(leaf: Any, place: Device | Sharding | MemorySpace | None) -> Any:
    if type(leaf) is np.ndarray:
        if is_string_array(leaf):
            return string_array(leaf, place)  # type: ignore[arg-type]  # a space stands for a tracer's place alone
        if (
            isinstance(place, Sharding)
            and not transfers
            and hasattr(place.devices[0].backend, "spread")
        ):
            dtype = dtypes.canonicalize(leaf.dtype, "device_put")
            if len(place.devices) > 1 and leaf.dtype == dtype and dtype != dtypes.float0:
                return _Uncopied(leaf, aval_of_value(leaf.shape, dtype))
    return as_array(leaf, "device_put")


def _in_space(space: MemorySpace, leaf: Any) -> Device | Sharding | MemorySpace:
    """Where a value goes that is put to a kind of memory: to that of its devices."""
    if isinstance(leaf, Tracer):
        return space
    if space not in SPACE_KINDS:
        raise ValueError(f"device_put: arrays are put to Space.Device or Space.Host, not {space}.")
    held = leaf._placement if type(leaf) is Array else default_placement()
    found: Sharding = held.sharding.with_memory_kind(SPACE_KINDS[space])
    return found


def _check(sharding: Sharding, array: Any, path: str) -> None:
    try:
        check_compatible_aval(sharding, array.aval.shape)
    except ValueError as error:
        raise type(error)(
            f"One of device_put args is incompatible with its sharding annotation {sharding}: argument x{path} is "
            f"{array.aval.str_short()}. {error}"
        ) from None


def _moved(array: Any, place: Device | Sharding | MemorySpace | None) -> Any:
    if place is None:
        return array
    if isinstance(array, _Uncopied):
        return array.spread(place)  # type: ignore[arg-type]  # so it was made
    if isinstance(array, Tracer):
        return device_put_p.bind(array, devices=(place,))[0]
    if isinstance(place, MemorySpace):
        raise TypeError("an array is put to a kind of memory by a sharding")
    held, placement = array._placement, place.committed
    if placement.several and held.several and _differ_in_kind(held.sharding, place, array.ndim):
        return Array(place.typed(array.aval), placement, array._host, array._buffer)
    return transfer(array, placement)


def _differ_in_kind(held: Sharding, wanted: Any, ndim: int) -> bool:
    """Whether two shardings say the same of the parts of an array, and other kinds of memory."""
    if held.memory_kind == wanted.memory_kind:
        return False
    same: bool = held.with_memory_kind(wanted.memory_kind).is_equivalent_to(wanted, ndim)
    return same


def _for_each_leaf(who: str, prefix: Any, tree: Any) -> list[Any]:
    try:
        return list(broadcast_prefix(prefix, tree, is_leaf=lambda x: x is None))
    except ValueError:
        raise ValueError(
            f"{who}: {prefix!r} is no prefix of the tree {pytree.structure(tree)}."
        ) from None
