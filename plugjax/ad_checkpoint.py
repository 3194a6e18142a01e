"""Rematerialization: the names of ``jax.ad_checkpoint``."""

from __future__ import annotations

from typing import Any

from plugjax import checkpoint_policies
from plugjax.core import pytree
from plugjax.core.array import as_array
from plugjax.core.transforms.checkpoint import checkpoint
from plugjax.lax.barrier import name_p


def checkpoint_name(x: Any, name: str) -> Any:
    """The pytree unchanged, its leaves named for policies of ``plugjax.checkpoint``.

    Example:
        >>> from plugjax.ad_checkpoint import checkpoint_name
        >>> checkpoint_name(1.0, "loss")
        Array(1., dtype=float32, weak_type=True)
    """

    def named(leaf: Any) -> Any:
        value = leaf if hasattr(leaf, "aval") else as_array(leaf, "checkpoint_name")
        return name_p.bind(value, name=name)

    return pytree.tree_map(named, x)


__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies"]
