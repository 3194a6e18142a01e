"""Tests as data: rows, at least one per primitive, and the checks that follow from a row.

Backends from outside use them too.
"""

from plugjax.testing.checks import (
    check_abstract,
    check_compiled,
    check_eager,
    check_jit,
    check_jvp,
    check_value,
    check_vjp,
    check_vmap,
    operands,
    tape_primitives,
)
from plugjax.testing.ops import OPS
from plugjax.testing.row import (
    Op,
    Sampler,
    booleans,
    both,
    complexes,
    distinct,
    in_float64,
    integers,
    real,
)

__all__ = [
    "OPS",
    "Op",
    "Sampler",
    "booleans",
    "both",
    "check_abstract",
    "check_compiled",
    "check_eager",
    "check_jit",
    "check_jvp",
    "check_value",
    "check_vjp",
    "check_vmap",
    "complexes",
    "distinct",
    "in_float64",
    "integers",
    "operands",
    "real",
    "tape_primitives",
]
