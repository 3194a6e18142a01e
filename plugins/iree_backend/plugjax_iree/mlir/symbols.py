"""Names of functions and kernels, and the attributes that refer to them."""

import ctypes

from plugjax_iree.mlir.interface import Mlir, Pointer, Text, text_of


def symbol_of(mlir: Mlir, operation: int) -> bytes:
    """The name that an operation has for others; empty if it has none."""
    name = mlir.attribute(operation, text_of(b"sym_name"))
    return b"" if name is None else _bytes(mlir.string(name))


def rename_outer_symbols(
    mlir: Mlir, operation: int, attribute: bytes, names: dict[bytes, bytes]
) -> None:
    """Rename what an attribute of references refers to: ``[@a::@f]`` becomes ``[@b::@f]``.

    Args:
        mlir: the interface.
        operation: what has the attribute.
        attribute: its name.
        names: new names of outer symbols, by old ones; others stay.
    """
    key = text_of(attribute)
    references = mlir.attribute(operation, key)
    if references is None:
        return
    context = mlir.context(operation)
    renamed = []
    for i in range(mlir.element_count(references)):
        reference = mlir.element(references, i)
        outer = _bytes(mlir.outer_symbol(reference))
        count = mlir.inner_symbol_count(reference)
        inner = (Pointer * count)(*(mlir.inner_symbol(reference, k) for k in range(count)))
        renamed.append(mlir.symbol(context, text_of(names.get(outer, outer)), count, inner))
    array = mlir.array(context, len(renamed), (Pointer * len(renamed))(*renamed))
    mlir.set_attribute(operation, key, array)


def _bytes(text: Text) -> bytes:
    return ctypes.string_at(text.data, text.length)
