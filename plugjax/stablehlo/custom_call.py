"""Custom calls: operations that the compiler finds by the name of a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plugjax.extend.core import Array
from plugjax.extend.dtypes import INT32
from plugjax.stablehlo import mlir
from plugjax.stablehlo.mlir import Attribute, Operation, Type, Value


def custom_call(
    target: str,
    result_types: Sequence[Type],
    operands: Sequence[Value],
    *,
    backend_config: str | bytes | dict[str, Attribute] | None = "",
    has_side_effect: bool = False,
    api_version: int = 2,
    called_computations: Sequence[str] = (),
    operand_output_aliases: Mapping[int, int] | None = None,
    operand_layouts: Sequence[Sequence[int]] | None = None,
    result_layouts: Sequence[Sequence[int]] | None = None,
    result_sizes: Sequence[Sequence[Any]] | None = None,
    result_shapes: Sequence[Value] | None = None,
    extra_attributes: Mapping[str, Attribute] | None = None,
) -> Operation:
    """Write a custom call, as JAX writes it.

    Args:
        target: the name.
        result_types: types of the results.
        operands: values.
        backend_config: the target's configuration: a text, or attributes by name (of the typed interface).
        has_side_effect: whether it stays though its results are unused.
        api_version: of the interface; what attributes by name are for is settled.
        called_computations: names of functions that the target calls.
        operand_output_aliases: from operands to the results in their memory.
        operand_layouts: the axes of each operand, the one with the least stride first.
        result_layouts: the same for the results.
        result_sizes: shapes of the results, if some sizes are expressions.
        result_shapes: the same as values.
        extra_attributes: attributes of the operation.
    """
    operands = list(operands)
    typed = backend_config if isinstance(backend_config, dict) else None
    attributes: dict[str, Attribute] = {
        "call_target_name": mlir.string(target),
        "has_side_effect": mlir.boolean(has_side_effect),
        "backend_config": mlir.string(
            "" if isinstance(backend_config, dict) else backend_config or ""
        ),
        # XLA takes the typed interface from the dictionary of attributes.
        "api_version": mlir.attribute(f"{api_version if typed is None else 1} : i32"),
        "called_computations": mlir.array([mlir.symbol(name) for name in called_computations]),
    }
    if typed is not None:
        attributes["mhlo.backend_config"] = mlir.dictionary(typed)
    if operand_output_aliases is not None:
        single = len(result_types) == 1
        attributes["output_operand_aliases"] = mlir.array(
            [
                mlir.attribute(
                    f"#stablehlo.output_operand_alias<output_tuple_indices = {[] if single else [result]}, "
                    f"operand_index = {operand}, operand_tuple_indices = []>"
                )
                for operand, result in operand_output_aliases.items()
            ]
        )
    attributes.update(extra_attributes or {})
    if result_sizes is not None:
        result_shapes = [mlir.sizes(shape, INT32) for shape in result_sizes]
    if result_shapes is not None:
        places = range(len(operands), len(operands) + len(result_shapes))
        attributes["indices_of_shape_operands"] = mlir.elements(np.asarray(places, np.int64))
        operands += result_shapes
        if operand_layouts is not None:
            operand_layouts = [*operand_layouts, *[(0,)] * len(result_shapes)]
    for name, layouts in (("operand_layouts", operand_layouts), ("result_layouts", result_layouts)):
        if layouts is not None:
            attributes[name] = mlir.array([_order(layout) for layout in layouts])
    return mlir.op("stablehlo.custom_call", mlir.plain(result_types), operands, attributes)


def _order(layout: Sequence[int]) -> Attribute:
    numbers = [int(axis) for axis in layout]
    return mlir.attribute(f"dense<{numbers or ''}> : tensor<{len(numbers)}xindex>")


def attribute_of(value: Any) -> Attribute:
    """A Python value as an attribute: a number, a string, a dtype, an array, an attribute, or a sequence or dict of these.

    Raises:
        TypeError: there is no attribute for it.
        ValueError: an array repeats its elements by a stride of 0.
    """
    if mlir.is_attribute(value):
        return value
    if isinstance(value, (str, bytes)):
        return mlir.string(value)
    if isinstance(value, dict):
        return mlir.dictionary({name: attribute_of(v) for name, v in value.items()})
    if isinstance(value, (list, tuple)):
        return mlir.array([attribute_of(v) for v in value])
    if isinstance(value, np.dtype):
        return mlir.type_attribute(value)
    if isinstance(value, (bool, int, float)):
        return mlir.number(np.asarray(value)[()])
    if isinstance(value, np.generic):
        return mlir.number(value)
    if type(value) is Array:
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        if 0 in value.strides and value.size:
            raise ValueError(
                "NumPy arrays with zero strides are not supported as MLIR attributes. Copy the array."
            )
        return mlir.elements(value)
    raise TypeError(
        f"No attribute handler defined for type: {type(value)}, the value is {value!r}."
    )
