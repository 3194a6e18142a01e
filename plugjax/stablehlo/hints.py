"""Hints for XLA's compiler: names and texts at operations (``frontend_attributes``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plugjax.extend.transforms import Marks
from plugjax.stablehlo import mlir
from plugjax.stablehlo.mlir import Operation, Value

FRONTEND = "mhlo.frontend_attributes"


def annotate(operation: Operation | None, texts: Mapping[str, str]) -> None:
    """Give an operation names and texts, beside those that it has; arguments of functions have no operation."""
    if operation is None:
        return
    known = operation.attributes
    found = {name: mlir.string(text) for name, text in texts.items()}
    if FRONTEND in known:
        found.update(mlir.entries(known[FRONTEND]))
    known[FRONTEND] = mlir.dictionary(found)


def mark(values: Sequence[Value], marks: Marks) -> None:
    """Mark the operations of an equation.

    Args:
        values: its results.
        marks: what is told of it.
    """
    if marks.operations:
        texts = dict(marks.operations)
        for value in values:
            operation = mlir.defining(value)
            annotate(operation, texts)
            # A number that an operation repeats for itself.
            for operand in operation.operands if operation is not None else ():
                repeated = mlir.defining(operand)
                if repeated is not None and repeated.name == "stablehlo.broadcast_in_dim":
                    annotate(repeated, texts)
    if marks.results:
        for value in values:
            annotate(mlir.defining(value), dict(marks.results))
