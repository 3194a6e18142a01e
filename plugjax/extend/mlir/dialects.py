"""Builders of operations, by dialect."""

from jaxlib.mlir.dialects import (
    arith,
    builtin,
    chlo,
    func,
    math,
    memref,
    scf,
    sdy,
    sparse_tensor,
    stablehlo,
    vector,
)

__all__ = [
    "arith",
    "builtin",
    "chlo",
    "func",
    "math",
    "memref",
    "scf",
    "sdy",
    "sparse_tensor",
    "stablehlo",
    "vector",
]
