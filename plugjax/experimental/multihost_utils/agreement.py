"""Values that all processes of a program have: of one of them, of each, or the same in all."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from plugjax.environment import process_count, process_index
from plugjax.extend import pytree
from plugjax.extend.backend import devices
from plugjax.extend.core import as_array
from plugjax.extend.execution import jit
from plugjax.extend.meshes import (
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    make_array_from_process_local_data,
)
from plugjax.numpy import sum as _sum


def _mesh() -> Mesh:
    """Processes by their devices."""
    count = process_count()
    ordered = sorted(devices(), key=lambda d: (d.process_index, d.id))
    array = np.empty(len(ordered), object)
    array[:] = ordered
    kinds = (AxisType.Auto, AxisType.Auto)
    return Mesh(array.reshape(count, -1), ("processes", "local_devices"), kinds)


def _of_each_process(x: Any) -> Any:
    """An array with an axis in front, of which each process has given one index."""
    sharding = NamedSharding(_mesh(), PartitionSpec("processes"))
    return make_array_from_process_local_data(sharding, np.asarray(x)[None])


def _everywhere(function: Any, x: Any) -> np.ndarray[Any, Any]:
    """A function of an array over all devices, whose result each process has whole."""
    whole = NamedSharding(_mesh(), PartitionSpec())
    return np.asarray(jit(function, out_shardings=whole)(x))


def itself(x: Any) -> Any:
    """A function that only moves its argument, by how its result is spread."""
    return x


def _total(x: Any) -> Any:
    return _sum(x, axis=0)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """A pytree of arrays of one process, in all processes.

    Args:
        in_tree: the values; those of the other processes say structure, shapes and dtypes alone.
        is_source: whether this process is the one; process 0 is, if left out.

    Returns:
        The pytree with NumPy arrays.

    Example:
        >>> from plugjax.experimental import multihost_utils
        >>> multihost_utils.broadcast_one_to_all({"a": 1.5})
        {'a': array(1.5, dtype=float32)}
    """
    if is_source is None:
        is_source = process_index() == 0

    def sent(x: Any) -> np.ndarray[Any, Any]:
        value = np.asarray(as_array(x, "broadcast_one_to_all"))
        if process_count() == 1:
            return value
        # As bytes: adding zeros would change the sign of a zero.
        raw = np.frombuffer(np.ascontiguousarray(value).tobytes(), np.uint8).astype(np.uint32)
        total = _everywhere(_total, _of_each_process(raw if is_source else np.zeros_like(raw)))
        found = np.frombuffer(total.astype(np.uint8).tobytes(), value.dtype)
        return found.reshape(value.shape)

    return pytree.tree_map(sent, in_tree)


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """A pytree of arrays of all processes, in all processes.

    Args:
        in_tree: arrays of this process, or arrays over the devices of all.
        tiled: whether those of the processes are joined along their first axis, instead of a new one. Arrays over all devices need
            it.

    Returns:
        The pytree with NumPy arrays.

    Raises:
        ValueError: an array over the devices of all processes, and not ``tiled``.

    Example:
        >>> import numpy as np
        >>> from plugjax.experimental import multihost_utils
        >>> multihost_utils.process_allgather(np.arange(2, dtype=np.int32))
        array([[0, 1]], dtype=int32)
    """

    def gathered(x: Any) -> np.ndarray[Any, Any]:
        array = as_array(x, "process_allgather")
        if not array.is_fully_addressable:
            if not tiled:
                raise ValueError(
                    "process_allgather: Gathering global non-fully-addressable arrays only supports tiled=True."
                )
            return _everywhere(itself, array)
        found = (
            np.asarray(array)[None]
            if process_count() == 1
            else _everywhere(itself, _of_each_process(array))
        )
        if not tiled:
            return found
        return found.reshape(-1) if found.ndim == 1 else np.concatenate(list(found), axis=0)

    return pytree.tree_map(gathered, in_tree)


def sync_global_devices(name: str) -> None:
    """Wait until all processes come here.

    Args:
        name: the same in each process; another one is an error.

    Raises:
        AssertionError: another process waits by another name.

    Example:
        >>> from plugjax.experimental import multihost_utils
        >>> multihost_utils.sync_global_devices("end of an epoch")
    """
    if process_count() == 1:
        return
    assert_equal(
        np.uint32(zlib.crc32(name.encode())), f"sync_global_devices name mismatch ('{name}')"
    )


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have the same values.

    Raises:
        AssertionError: the values of this process are not those of process 0.

    Example:
        >>> from plugjax.experimental import multihost_utils
        >>> multihost_utils.assert_equal({"step": 3})
    """
    expected = broadcast_one_to_all(in_tree)
    found = pytree.tree_map(lambda x: np.asarray(as_array(x)), in_tree)
    same = [
        np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
        for a, b in zip(pytree.leaves(expected), pytree.leaves(found), strict=True)
    ]
    if not all(same):
        raise AssertionError(
            f"{fail_message} Expected: {expected}; got: {found} in process {process_index()}."
        )
