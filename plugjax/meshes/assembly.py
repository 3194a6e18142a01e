"""Arrays over several devices from their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.core import dtypes
from plugjax.core.array import Array, as_array
from plugjax.core.aval import Shape, ShapedArray, physical_aval
from plugjax.core.device import Sharding
from plugjax.core.dtypes import DTypeLike
from plugjax.meshes.geometry import Index, block_indices, is_local, shard_shape


def make_array_from_callback(
    shape: Shape,
    sharding: Sharding,
    data_callback: Callable[[Index], Any],
    dtype: DTypeLike | None = None,
) -> Array:
    """An array whose parts a function gives, from their indices.

    Args:
        shape: of the whole array.
        sharding: how it is spread.
        data_callback: from a tuple of slices to the part there. It is called once for each distinct part.
        dtype: of the array; that of the parts, if left out.

    Raises:
        ValueError: the shape cannot be divided, or a part has another shape.

    Example:
        >>> import numpy as np, plugjax
        >>> sharding = plugjax.NamedSharding(plugjax.make_mesh((1,), ("x",)), plugjax.P("x"))
        >>> plugjax.make_array_from_callback((4,), sharding, lambda index: np.arange(4)[index])
        Array([0, 1, 2, 3], dtype=int32)
    """
    shape = tuple(shape)
    expected = shard_shape(sharding, shape)
    found: dict[Any, Any] = {}
    parts: list[Any] = []
    for device, index in zip(sharding.devices, block_indices(sharding, shape), strict=True):
        if not is_local(device):
            parts.append(None)
            continue
        key = tuple((s.start, s.stop) for s in index)
        if key not in found:
            part = as_array(data_callback(index), "make_array_from_callback")
            if part.aval.shape != expected:
                raise ValueError(
                    f"make_array_from_callback: Expected shard shape {expected}, but data_callback gave shape {part.aval.shape} "
                    f"for index {index}. Shape of the array is {shape}, sharding {sharding}."
                )
            found[key] = part
        parts.append(found[key])
    return _assembled(shape, sharding, parts, dtype)


def make_array_from_single_device_arrays(
    shape: Shape,
    sharding: Sharding,
    arrays: Sequence[Any],
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """An array of a part on each device.

    Args:
        shape: of the whole array.
        sharding: how it is spread.
        arrays: one array for each device, in the order of the sharding's devices or in any, if they lie on these devices.
        dtype: of the array; that of the parts, if left out.

    Raises:
        ValueError: there are not as many arrays as devices, or one has another shape.
        TypeError: ``arrays`` is no sequence of arrays.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> sharding = plugjax.NamedSharding(plugjax.make_mesh((1,), ("x",)), plugjax.P("x"))
        >>> plugjax.make_array_from_single_device_arrays((2,), sharding, [jnp.ones(2)])
        Array([1., 1.], dtype=float32)
    """
    if isinstance(arrays, Array) or not isinstance(arrays, Sequence):
        raise TypeError(
            f"make_array_from_single_device_arrays `arrays` argument must be a list or tuple, but got {type(arrays)}."
        )
    devices = [device for device in sharding.devices if is_local(device)]
    if len(arrays) != len(devices):
        raise ValueError(
            f"Expected {len(devices)} per-device arrays (this is how many devices are addressable by the sharding), but got "
            f"{len(arrays)}."
        )
    shape = tuple(shape)
    expected = shard_shape(sharding, shape)
    parts = [as_array(x, "make_array_from_single_device_arrays") for x in arrays]
    for i, part in enumerate(parts):
        if part.aval.shape != expected:
            raise ValueError(
                f"Expected shard shape {expected} doesn't match the single device array shape {part.aval.shape}. Shape of Array "
                f"is {shape}, array {i}, sharding {sharding}."
            )
    held = {part._placement.device: part for part in parts}
    if all(device in held for device in devices):
        parts = [held[device] for device in devices]
    left = iter(parts)
    each = [next(left) if is_local(device) else None for device in sharding.devices]
    return _assembled(shape, sharding, each, dtype)


def make_array_from_process_local_data(
    sharding: Sharding, local_data: Any, global_shape: Shape | None = None
) -> Any:
    """A pytree of arrays from the part of each that this process holds; with one process, the whole arrays.

    Args:
        sharding: how they are spread.
        local_data: pytree of arrays.
        global_shape: shape of the whole arrays, if it is not that of the data.

    Raises:
        ValueError: the shape cannot be divided, or is not that of the data.

    Example:
        >>> import numpy as np, plugjax
        >>> sharding = plugjax.NamedSharding(plugjax.make_mesh((1,), ("x",)), plugjax.P("x"))
        >>> plugjax.make_array_from_process_local_data(sharding, np.arange(2))
        Array([0, 1], dtype=int32)
    """
    data = np.asarray(local_data)
    counts = sharding.counts(data.ndim)
    own = [
        position
        for device, position in zip(sharding.devices, sharding.positions(data.ndim), strict=True)
        if is_local(device)
    ]
    # The first block of this process, and how many it has, along each axis.
    first = [min(each) for each in zip(*own, strict=True)]
    spans = [max(each) + 1 - low for each, low in zip(zip(*own, strict=True), first, strict=True)]
    inferred = tuple(
        n if n_blocks == span else n * n_blocks // span
        for n, n_blocks, span in zip(data.shape, counts, spans, strict=True)
    )
    shape = inferred if global_shape is None else tuple(global_shape)
    whole = data.shape == shape
    if not whole and shape != inferred:
        raise ValueError(
            f"make_array_from_process_local_data: this process has the blocks {spans} of {counts} of {sharding}, so data of shape "
            f"{data.shape} makes an array of shape {inferred}, not {shape}."
        )
    starts = [
        0 if whole else n // n_blocks * low
        for n, n_blocks, low in zip(shape, counts, first, strict=True)
    ]

    def part(index: Index) -> Any:
        return data[
            tuple(
                slice((s.start or 0) - start, None if s.stop is None else s.stop - start)
                for s, start in zip(index, starts, strict=True)
            )
        ]

    return make_array_from_callback(shape, sharding, part)


def array_of_stored_values(
    aval: ShapedArray, sharding: Sharding, read: Callable[[Index], np.ndarray[Any, Any]]
) -> Array:
    """An array whose values are read block by block.

    Args:
        aval: of the array, of a shape that can be divided.
        sharding: how it is spread.
        read: from an index in the array to the values there as they are kept, in memory that nothing else writes to. It is called for
            the whole array if this process has all devices, else once for each distinct part of its own.
    """
    placement = sharding.committed
    devices = sharding.devices
    if all(map(is_local, devices)):
        return Array(aval, placement, read((slice(None),) * aval.ndim))
    found: dict[tuple[int, ...], Any] = {}
    parts: list[Any] = []
    positions = sharding.positions(aval.ndim)
    indices = block_indices(sharding, aval.shape)
    for device, position, index in zip(devices, positions, indices, strict=True):
        if is_local(device) and position not in found:
            found[position] = read(index)
        parts.append(found[position] if is_local(device) else None)
    return Array(
        aval, placement, None, placement.backend.join(parts, physical_aval(aval), sharding)
    )


def _assembled(
    shape: Shape, sharding: Sharding, parts: Sequence[Any], dtype: DTypeLike | None
) -> Array:
    first = next(part for part in parts if part is not None).aval
    kind = first.dtype if dtype is None else dtypes.canonicalize(dtype)
    for i, part in enumerate(parts):
        if part is not None and part.aval.dtype != kind:
            raise ValueError(
                f"an array of dtype {kind} has no part {part.aval.str_short()} (part {i}). Convert it first."
            )
    aval = ShapedArray(shape, kind)
    stored = physical_aval(aval)
    placement = sharding.committed
    if any(part is None for part in parts):
        values = [None if part is None else np.asarray(part._fetch()) for part in parts]
        typed = sharding.typed(aval)
        return Array(typed, placement, None, placement.backend.join(values, stored, sharding))
    whole = np.empty(stored.shape, stored.dtype)
    for index, part in zip(block_indices(sharding, shape), parts, strict=True):
        whole[index] = part._fetch()
    return Array(sharding.typed(aval), placement, whole)
