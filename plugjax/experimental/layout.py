"""Layouts of arrays: the names of ``jax.experimental.layout``."""

from plugjax.experimental.annotations.layout_constraint import with_layout_constraint
from plugjax.extend.layouts import Format, Layout

__all__ = ["Format", "Layout", "with_layout_constraint"]
