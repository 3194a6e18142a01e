"""Descriptions of arguments whose sizes are not known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.export.symbolic.dimension import SymbolicScope, symbolic_shape
from plugjax.extend import pytree
from plugjax.extend.core import ShapeDtypeStruct, aval_of


def symbolic_args_specs(
    args: Any,
    shapes_specs: Any,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> Any:
    """Descriptions of arguments, with the sizes of some axes as expressions.

    Args:
        args: pytree of arrays or ``ShapeDtypeStruct``.
        shapes_specs: a pytree that is a prefix of ``args``, of shapes as for :func:`symbolic_shape`; ``None`` for the shape of the
            argument.
        constraints: what is known of the sizes.
        scope: the scope of the variables; by default a new one.

    Raises:
        ValueError: the structures do not fit, or a shape does not fit an argument.

    Example:
        >>> import numpy as np
        >>> from plugjax import export
        >>> export.symbolic_args_specs((np.ones((2, 3)),), "b, ...")
        (ShapeDtypeStruct(shape=(b, 3), dtype=float32),)
    """
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ValueError("symbolic_args_specs: Cannot use both `scope` and `constraints`.")
    leaves, tree = pytree.flatten(args)
    if isinstance(args, tuple) and isinstance(shapes_specs, list):
        shapes_specs = tuple(shapes_specs)
    texts = pytree.broadcast_prefix(shapes_specs, args, is_leaf=lambda x: x is None)
    found = []
    for leaf, text in zip(leaves, texts, strict=True):
        described = leaf if isinstance(leaf, ShapeDtypeStruct) else aval_of(leaf)
        shape = symbolic_shape(text, scope=scope, like=described.shape)
        found.append(ShapeDtypeStruct(shape, described.dtype))
    return pytree.unflatten(tree, found)
