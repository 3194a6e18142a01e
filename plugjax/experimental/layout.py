"""Layouts of arrays: the names of ``jax.experimental.layout``."""

from plugjax.extend.layouts import Format, Layout

__all__ = ["Format", "Layout"]
