"""Eager evaluation of primitives that a program defines."""

from plugjax.extend.backend import Backend
from plugjax.extend.calls import apply_primitive
from plugjax.extend.transforms import show_only

__all__ = ["Backend", "apply_primitive"]

show_only(globals(), __all__)
