"""MLIR for lowering rules: :mod:`~plugjax.extend.mlir.ir`, dialects, passes, and portable artifacts of StableHLO.

Importing this needs jaxlib, whose bindings these are.
"""

import jaxlib.mlir._mlir_libs  # noqa: F401  # before `ir`: it patches the classes of `ir` while it loads
from jaxlib import _jax

deserialize_portable_artifact = _jax.mlir.deserialize_portable_artifact
hlo_to_stablehlo = _jax.mlir.hlo_to_stablehlo
refine_polymorphic_shapes = _jax.mlir.refine_polymorphic_shapes
serialize_portable_artifact = _jax.mlir.serialize_portable_artifact

__all__ = [
    "deserialize_portable_artifact",
    "hlo_to_stablehlo",
    "refine_polymorphic_shapes",
    "serialize_portable_artifact",
]
