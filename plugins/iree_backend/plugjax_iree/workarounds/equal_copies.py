"""Copies in a function that is inlined more than once.

A copy is a choice between a value and itself that the compiler cannot decide (`plugjax_iree.workarounds.copies`). Two calls of a function with
one value make two equal choices, for example of the buffers with which the inner loops of an unrolled loop start. Common subexpression
elimination would leave one of them, and both loops would write into one buffer. So each choice gets a number of its own after inlining and
before that elimination.
"""

from plugjax_iree.mlir import BARRIER, Mlir, defining_op, name_of, walk, write_number


def apply(mlir: Mlir, module: int) -> int:
    """Number the choices; returns how many there are."""
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
    source = defining_op(mlir, value)
    return source is not None and name_of(mlir, source) == b"stablehlo.constant"
