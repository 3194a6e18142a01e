"""Eager evaluation of primitives that a program defines."""

from plugjax.extend.calls import apply_primitive

__all__ = ["apply_primitive"]
