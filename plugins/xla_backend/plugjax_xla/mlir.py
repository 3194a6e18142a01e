"""MLIR modules for the compiler: parsing, and marking parameters as donated."""

import functools
import importlib
import io
from collections.abc import Sequence
from types import ModuleType
from typing import Any


@functools.cache
def _ir() -> ModuleType:
    # The package patches the classes of `ir` while it loads, and jax loads the package first. If a
    # thread imports `ir` directly at that moment, jax subclasses the unpatched classes and fails.
    importlib.import_module("jaxlib.mlir._mlir_libs")
    return importlib.import_module("jaxlib.mlir.ir")


@functools.cache
def _dialects() -> Any:
    registry = _ir().DialectRegistry()
    importlib.import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    return registry


def make_context() -> Any:
    """An ``ir.Context`` with the dialects that XLA compiles."""
    context = _ir().Context()
    context.append_dialect_registry(_dialects())
    for name in ("stablehlo", "chlo", "sdy"):
        importlib.import_module(f"jaxlib.mlir.dialects.{name}").register_dialect(context)
    return context


def parse_module(source: bytes | str) -> Any:
    """The ``ir.Module`` of MLIR text or bytecode, in its own context."""
    return _ir().Module.parse(source, make_context())


def module_bytecode(module: Any) -> bytes:
    """The module as MLIR bytecode."""
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return stream.getvalue()


def with_donated_parameters(module: Any, donated: Sequence[int]) -> Any:
    """A copy of ``module`` whose ``main`` donates these parameters to XLA.

    A parameter that already names its result (``tf.aliasing_output``) is left as it is.
    """
    ir = _ir()
    copy = ir.Module.parse(module_bytecode(module), module.context)
    main = ir.SymbolTable(copy.operation)["main"]
    attributes = _parameter_attributes(main)
    with copy.context:
        for position in donated:
            if "tf.aliasing_output" not in attributes[position]:
                attributes[position]["jax.buffer_donor"] = ir.BoolAttr.get(True)
        main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in attributes])
    return copy


def _parameter_attributes(main: Any) -> list[dict[str, Any]]:
    if "arg_attrs" not in main.attributes:
        return [{} for _ in main.regions[0].blocks[0].arguments]
    return [
        {named.name: named.attr for named in _items(attributes)}
        for attributes in main.attributes["arg_attrs"]
    ]


def _items(attributes: Any) -> list[Any]:
    # Iterating a DictAttr yields names or pairs, depending on the version; indexing is stable.
    return [attributes[position] for position in range(len(attributes))]
