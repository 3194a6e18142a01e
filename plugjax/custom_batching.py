"""User-defined batching rules: the names of ``jax.custom_batching``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from plugjax.calls.custom_vmap import custom_vmap
from plugjax.core import pytree
from plugjax.extend.transforms import show_only
from plugjax.lax import map as lax_map

_P = ParamSpec("_P")
_R = TypeVar("_R")


def sequential_vmap(f: Callable[_P, _R]) -> custom_vmap[_P, _R]:
    """A function whose ``vmap`` runs the instances one after the other, in a loop.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.custom_batching import sequential_vmap
        >>> plugjax.vmap(sequential_vmap(lambda x: x * 2))(jnp.arange(3))
        Array([0, 2, 4], dtype=int32)
    """
    mapped = custom_vmap(f)

    def rule(axis_size: int, in_batched: Sequence[Any], *args: Any) -> tuple[Any, Any]:
        leaves, tree = pytree.flatten(args)
        flags = pytree.leaves(in_batched)
        varying = [x for x, b in zip(leaves, flags, strict=True) if b]

        def one(varying: Sequence[Any]) -> Any:
            given = iter(varying)
            function: Callable[..., Any] = mapped
            return function(
                *pytree.unflatten(
                    tree, [next(given) if b else x for x, b in zip(leaves, flags, strict=True)]
                )
            )

        out = lax_map(one, varying)
        return out, pytree.tree_map(lambda _: True, out)

    mapped.def_vmap(rule)
    return mapped


__all__ = ["custom_vmap", "sequential_vmap"]

show_only(globals(), __all__)
