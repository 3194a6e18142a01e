"""Rules of primitives that a program defines, under JAX's names: ``ad``, ``batching``, ``mlir``, ``partial_eval``, ``pxla``, ``xla``.

A program writes ``ad.primitive_jvps[f_p] = rule`` where a plugin writes ``@rules.define(jvp_rule, f_p)``.
"""

import importlib
from types import ModuleType

# Loaded on first use: ``mlir`` needs jaxlib.
_SUBMODULES = ("ad", "batching", "mlir", "partial_eval", "pxla", "xla")


def __getattr__(name: str) -> ModuleType:
    if name in _SUBMODULES:
        return importlib.import_module(f"plugjax.interpreters.{name}")
    raise AttributeError(f"module 'plugjax.interpreters' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_SUBMODULES)
