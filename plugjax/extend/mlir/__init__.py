"""MLIR for lowering rules: :mod:`~plugjax.extend.mlir.ir`, dialects, passes, and portable artifacts of StableHLO.

Importing this needs jaxlib, whose bindings these are. ``lower_with_sharding_in_types`` is of the package of StableHLO.
"""

from typing import Any

import jaxlib.mlir._mlir_libs  # noqa: F401  # before `ir`: it patches the classes of `ir` while it loads
from jaxlib import _jax

from plugjax.extend import extensions

deserialize_portable_artifact = _jax.mlir.deserialize_portable_artifact
hlo_to_stablehlo = _jax.mlir.hlo_to_stablehlo
refine_polymorphic_shapes = _jax.mlir.refine_polymorphic_shapes
serialize_portable_artifact = _jax.mlir.serialize_portable_artifact


def __getattr__(name: str) -> Any:
    return extensions.attribute("mlir", "lowerings to StableHLO", name)


def __dir__() -> list[str]:
    return sorted([*globals(), *extensions.names("mlir")])


__all__ = [
    "deserialize_portable_artifact",
    "hlo_to_stablehlo",
    "refine_polymorphic_shapes",
    "serialize_portable_artifact",
]
