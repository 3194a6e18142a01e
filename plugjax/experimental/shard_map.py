"""``shard_map`` under its older name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plugjax.lax.sharded import shard_map as newer


def shard_map(
    f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True
) -> Callable[..., Any]:
    """As :func:`plugjax.shard_map` over all axes of the mesh; ``check_rep`` is its ``check_vma``.

    Args:
        f: the function of one device.
        mesh: the devices.
        in_specs: how arguments are spread.
        out_specs: how results are spread.
        check_rep: whether types say along which axes values differ.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.shard_map import shard_map
        >>> P, mesh = plugjax.P, plugjax.make_mesh((1,), ("i",))
        >>> shard_map(lambda x: plugjax.lax.psum(x, "i"), mesh, P("i"), P())(jnp.arange(3))
        Array([0, 1, 2], dtype=int32)
    """
    return newer.shard_map(
        f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep
    )
