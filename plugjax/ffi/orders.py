"""The order of an operand's axes in memory, as foreign functions ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from plugjax.extend.core import AbstractToken, physical_aval
from plugjax.extend.layouts import Layout

# The axes from the one with the greatest stride to the one with the least; None: row by row.
FfiLayoutOptions: TypeAlias = Sequence[int] | Layout | None
# The axes the other way round, as XLA has them.
MinorToMajor: TypeAlias = tuple[int, ...]


def stored_shape(aval: Any) -> tuple[int, ...]:
    """The shape of what is stored; a token has none."""
    return () if isinstance(aval, AbstractToken) else physical_aval(aval).shape


def xla_order(aval: Any, layout: FfiLayoutOptions = None) -> MinorToMajor:
    """A layout whose numbers are in XLA's order already.

    Raises:
        ValueError: it has tiles.
    """
    if layout is None:
        return tuple(reversed(range(len(stored_shape(aval)))))
    if isinstance(layout, Layout):
        if layout.tiling is not None:
            raise ValueError(f"The FFI does not support layouts with tiling, got {layout}.")
        return layout.major_to_minor[::-1]
    return tuple(layout)


def xla_orders(avals: Sequence[Any], layouts: Sequence[FfiLayoutOptions]) -> list[MinorToMajor]:
    """Layouts of ``ffi_call``, whose numbers are in JAX's order."""
    return [
        xla_order(aval, layout if layout is None or isinstance(layout, Layout) else layout[::-1])
        for aval, layout in zip(avals, layouts, strict=True)
    ]


def with_batch_axis(order: MinorToMajor) -> MinorToMajor:
    """The order with one more axis in front, of the greatest stride."""
    return (*[axis + 1 for axis in order], 0)
