"""``jax.experimental.shard_map``: the older signature of ``shard_map``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plugjax

__all__ = ["shard_map"]


def shard_map(
    f: Callable[..., Any],
    mesh: Any,
    in_specs: Any,
    out_specs: Any,
    check_rep: bool = True,
    auto: frozenset[Any] = frozenset(),
) -> Callable[..., Any]:
    """``jax.shard_map`` by its older arguments.

    Args:
        f: a function of blocks.
        mesh: the devices.
        in_specs: how arguments are cut.
        out_specs: how results are put together.
        check_rep: now ``check_vma``.
        auto: names of the axes that the compiler spreads over; ``axis_names`` has the others now.
    """
    names = set(mesh.axis_names) - set(auto) if auto else set()
    return plugjax.shard_map(
        f,
        mesh=mesh,
        in_specs=in_specs,
        out_specs=out_specs,
        check_vma=check_rep,
        axis_names=names,
    )
