"""Values that one operation reads along two of its axes: ``s = x.sum(1); jnp.einsum("i,j->ij", s, s)``.

IREE 3.13 computes the value in the kernel of that operation, for the elements that a workgroup needs along the first axis, and takes these for
the elements along the other: only blocks on the diagonal are written. So both are read from behind a barrier.
"""

from collections import defaultdict

from plugjax_iree.mlir import UTIL_BARRIER, Mlir, insert_operand_barrier, named, operands
from plugjax_iree.mlir.generics import GENERIC, is_fusible, maps_of


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    found = []
    for operation in named(mlir, module, GENERIC):
        readings = defaultdict(list)
        maps = maps_of(mlir, operation)
        for i, value in enumerate(operands(mlir, operation)[: len(maps)]):
            readings[value].append(i)
        for value, places in readings.items():
            if len({maps[i] for i in places}) > 1 and is_fusible(mlir, value):
                found += [(operation, i) for i in places]
    for operation, i in found:
        insert_operand_barrier(mlir, operation, i, UTIL_BARRIER)
    return len(found)
