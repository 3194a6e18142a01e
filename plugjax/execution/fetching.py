"""Values of whole pytrees on the host, and waiting for them."""

from __future__ import annotations

import gc
from typing import Any, TypeVar

import numpy as np

from plugjax.core import dtypes, pytree
from plugjax.core.array import Array, transfers
from plugjax.core.backend import devices
from plugjax.execution.transfers import asked, explicit_transfers

_T = TypeVar("_T")


def device_get(x: Any) -> Any:
    """A pytree with NumPy arrays for arrays.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> plugjax.device_get({"a": jnp.ones(2)})
        {'a': array([1., 1.], dtype=float32)}
    """
    if transfers and not asked.explicit:
        with explicit_transfers():
            return device_get(x)
    # Keys have no NumPy dtype: they stay what they are.
    return pytree.tree_map(
        lambda leaf: (
            np.asarray(leaf)
            if type(leaf) is Array and not dtypes.is_extended(leaf.aval.dtype)
            else leaf
        ),
        x,
    )


def block_until_ready(x: _T) -> _T:
    """Wait for all arrays in a pytree; returns the pytree.

    Example:
        >>> import plugjax
        >>> import plugjax.numpy as jnp
        >>> plugjax.block_until_ready(jnp.ones(2))
        Array([1., 1.], dtype=float32)
    """
    for leaf in pytree.leaves(x):
        wait = getattr(leaf, "block_until_ready", None)
        if wait is not None:
            wait()
    return x


def copy_to_host_async(x: _T) -> _T:
    """Begin to fetch the arrays in a pytree; what asks for their values later finds them there.

    Returns:
        The pytree as it is.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> tree = plugjax.copy_to_host_async({"a": jnp.ones(2)})
        >>> plugjax.device_get(tree)
        {'a': array([1., 1.], dtype=float32)}
    """
    if transfers and not asked.explicit:
        with explicit_transfers():
            return copy_to_host_async(x)
    for leaf in pytree.leaves(x):
        begin = getattr(leaf, "copy_to_host_async", None)
        if begin is not None:
            begin()
    return x


def live_arrays(platform: str | None = None) -> list[Array]:
    """Arrays of this process that hold memory, on the devices of a backend or of a kind of hardware.

    It searches the objects that Python's garbage collector knows: a tool for the search of leaks, not for a loop.

    Args:
        platform: as for ``devices``; the default backend's.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> x = jnp.ones(3)
        >>> any(y is x for y in plugjax.live_arrays())
        True
    """
    wanted = set(devices(platform))
    return [
        x
        for x in gc.get_objects()
        if type(x) is Array and not wanted.isdisjoint(x.devices()) and not x.is_deleted()
    ]
