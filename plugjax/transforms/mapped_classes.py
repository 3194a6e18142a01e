"""Containers under ``vmap`` that know the shape of what they hold.

The leaves of a container are mapped like all others. If the container itself says a shape, as a sparse array does, that of one
instance lacks the mapped axis, and that of a result has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.core import pytree
from plugjax.transforms.vmappable import is_vmappable

# By class: from a container and an axis that of one instance, and from an instance, an axis and its size the container.
mapped_classes: dict[
    type[Any], tuple[Callable[[Any, int], Any], Callable[[Any, int, int], Any]]
] = {}


def register_mapped(
    kind: type[Any],
    without_axis: Callable[[Any, int], Any],
    with_axis: Callable[[Any, int, int], Any],
) -> None:
    """Say how a container describes itself under ``vmap``. Both functions keep its leaves as they are.

    Args:
        kind: the class, which is registered as a container.
        without_axis: ``(container, axis) -> container``: describes an instance along a mapped axis.
        with_axis: ``(container, axis, size) -> container``: describes all instances.

    Example:
        >>> from plugjax.experimental.sparse import BCOO
        >>> import plugjax, plugjax.numpy as jnp
        >>> M = BCOO.fromdense(jnp.ones((3, 2, 2)), n_batch=1)
        >>> plugjax.vmap(lambda m: (print(m.shape), m)[1])(M).shape
        (2, 2)
        (3, 2, 2)
    """
    mapped_classes[kind] = without_axis, with_axis


def _is_mapped(node: Any) -> bool:
    return type(node) in mapped_classes


def _replaced(tree: Any, axes: Sequence[int | None], replace: Callable[[Any, int], Any]) -> Any:
    """The tree with each container of a registered class replaced, if the first of its leaves is mapped."""
    nodes, treedef = pytree.flatten(tree, lambda node: _is_mapped(node) or is_vmappable(node))
    place = 0
    for i, node in enumerate(nodes):
        if not _is_mapped(node):
            place += 1
            continue
        axis = axes[place] if place < len(axes) else None
        place += len(pytree.leaves(node))
        if axis is not None:
            nodes[i] = replace(node, axis)
    return pytree.unflatten(treedef, nodes)


def instances(tree: Any, axes: Sequence[int | None]) -> Any:
    """Arguments as one instance sees them, with leaves that still have the mapped axis; ``axes`` has one entry for each leaf."""
    return _replaced(tree, axes, lambda node, axis: mapped_classes[type(node)][0](node, axis))


def joined(tree: Any, axes: Sequence[int | None], size: int) -> Any:
    """Results of all instances, whose leaves have the mapped axis already."""
    return _replaced(tree, axes, lambda node, axis: mapped_classes[type(node)][1](node, axis, size))
