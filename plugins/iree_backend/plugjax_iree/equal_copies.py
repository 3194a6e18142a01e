"""Copies that a function makes, where it is inlined more than once.

A copy is a choice between a value and itself that the compiler cannot decide (``lowering/copies.py``). Two calls of a function make two such
choices, which are equal if the value is, as the buffers that inner loops of an unrolled loop start with are. Equal operations become
one, and both loops would write into one buffer. So between inlining and the search for equal operations each choice is numbered.
"""

from typing import Any

from plugjax_iree.mlir import BARRIER, Mlir, borrowed, maker, name_of, walk, write_number


def number(invocation: Any) -> int:
    """Repairs a StableHLO program that an invocation has parsed and inlined; returns how many choices it numbered.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), before equal operations are merged.
    """
    with borrowed(invocation) as (mlir, module):
        found = [operation for operation in walk(mlir, module) if _is_condition(mlir, operation)]
        for i, operation in enumerate(found):
            mlir.set_operand(operation, 0, write_number(mlir, operation, i + 1))
        return len(found)


def _is_condition(mlir: Mlir, operation: int) -> bool:
    """Whether an operation is a barrier behind a constant int32."""
    if name_of(mlir, operation) != BARRIER:
        return False
    value = mlir.operand(operation, 0)
    kind = mlir.type_of(value)
    element = mlir.element_type(kind)
    if mlir.rank(kind) or not mlir.is_integer(element) or mlir.bits(element) != 32:
        return False
    source = maker(mlir, value)
    return source is not None and name_of(mlir, source) == b"stablehlo.constant"
