"""Carries of unsigned integers that a loop scatters or sorts as they are: ``vmap(lambda x, i: fori_loop(0, 3, lambda _, c: dynamic_update_slice(x, c, (i,)), x))``.

IREE 3.13 makes scatters and sorts operations on signed integers before it does so with loops, and refuses the conversion between the two that is left: "failed to legalize
unresolved materialization". A barrier before the operation keeps them apart.
"""

from collections.abc import Iterator

from plugjax_iree.mlir import Mlir, blocks, insert_operand_barrier, name_of, operands, users, walk
from plugjax_iree.mlir.loops import WHILE

_EARLY = (b"stablehlo.scatter", b"stablehlo.sort")
_RESHAPE = b"stablehlo.reshape"


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    found = [
        (user, i)
        for loop in walk(mlir, module)
        if name_of(mlir, loop) == WHILE
        for block in blocks(mlir, loop)
        for carry in _unsigned(mlir, block)
        for value in _views(mlir, carry)
        for user in set(users(mlir, value))
        if name_of(mlir, user) in _EARLY
        for i, read in enumerate(operands(mlir, user))
        if read == value
    ]
    for operation, i in found:
        insert_operand_barrier(mlir, operation, i)
    return len(found)


def _unsigned(mlir: Mlir, block: int) -> Iterator[int]:
    """The arguments of a block that are unsigned integers."""
    for i in range(mlir.argument_count(block)):
        value = mlir.argument(block, i)
        kind = mlir.type_of(value)
        element = mlir.element_type(kind) if mlir.is_array(kind) else kind
        if mlir.is_integer(element) and mlir.is_unsigned(element):
            yield value


def _views(mlir: Mlir, value: int) -> Iterator[int]:
    """A value, and what reshapes it."""
    yield value
    for user in users(mlir, value):
        if name_of(mlir, user) == _RESHAPE:
            yield from _views(mlir, mlir.result(user, 0))
