"""Layouts within a program: ``with_layout_constraint``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.experimental.annotations.identity import define_identity
from plugjax.extend import pytree
from plugjax.extend.core import Primitive, Zero, as_array
from plugjax.extend.layouts import Layout
from plugjax.extend.rules import (
    RuleSet,
    batching_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis

rules = RuleSet(__name__)

layout_constraint_p = Primitive("layout_constraint")
define_identity(rules, layout_constraint_p)


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """``x``, which XLA lays out in memory as asked within a compiled program.

    Args:
        x: pytree of arrays.
        layouts: a ``Layout``, or a pytree of them that is a prefix of ``x``.

    Raises:
        ValueError: a leaf of ``layouts`` is no ``Layout``, or has another number of axes than its array.

    Differs from JAX:
        Outside of ``jit``, and on backends other than XLA, it changes nothing: arrays lie row by row between programs.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.experimental.layout import Layout, with_layout_constraint
        >>> f = plugjax.jit(lambda x: with_layout_constraint(2 * x, Layout((1, 0))))
        >>> "@LayoutConstraint" in f.lower(jnp.ones((2, 3))).as_text("stablehlo")
        True
    """
    leaves, tree = pytree.flatten(x)
    wanted = pytree.broadcast_prefix(layouts, x, is_leaf=lambda leaf: leaf is None)
    if any(not isinstance(layout, Layout) for layout in wanted):
        raise ValueError(
            "layouts passed to `with_layout_constraint` must be of type `Layout`, got "
            f"{[type(layout).__name__ for layout in wanted]}."
        )
    arrays = [as_array(leaf, "with_layout_constraint") for leaf in leaves]
    for array, layout in zip(arrays, wanted, strict=True):
        try:
            layout.check_compatible_aval(array.aval.shape)
        except ValueError as error:
            raise ValueError(
                f"with_layout_constraint: {layout} does not fit {array.aval.str_short()}: {error}"
            ) from None
    return pytree.unflatten(
        tree,
        [layout_constraint_p.bind(v, layout=w) for v, w in zip(arrays, wanted, strict=True)],
    )


@rules.define(transpose_rule, layout_constraint_p)
def _transpose(y_bar: Any, _: Any, *, layout: Layout) -> tuple[Any]:
    return (y_bar if type(y_bar) is Zero else layout_constraint_p.bind(y_bar, layout=layout),)


@rules.define(batching_rule, layout_constraint_p)
def _batching(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, layout: Layout
) -> tuple[Any, int | None]:
    (x,), (dim,) = args, dims
    if dim is not None:
        # As in JAX the number of the new axis is its place too.
        order = [axis + 1 for axis in layout.major_to_minor]
        order.insert(dim, 0)
        layout = layout.update(major_to_minor=order)
    return layout_constraint_p.bind(x, layout=layout), dim
