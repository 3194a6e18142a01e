"""Tests as data: one row per primitive, and the checks that follow from a row. For backends from outside too."""

from plugjax.testing.checks import (
    check_abstract,
    check_backend,
    check_jit,
    check_jvp,
    check_value,
    check_vjp,
    check_vmap,
)
from plugjax.testing.ops import OPS, Op

__all__ = [
    "OPS",
    "Op",
    "check_abstract",
    "check_backend",
    "check_jit",
    "check_jvp",
    "check_value",
    "check_vjp",
    "check_vmap",
]
