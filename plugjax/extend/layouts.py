"""How the elements of an array lie in memory."""

from plugjax.execution.layouts import AutoLayout, Format, Layout, row_by_row, sharding_of

__all__ = ["AutoLayout", "Format", "Layout", "row_by_row", "sharding_of"]
