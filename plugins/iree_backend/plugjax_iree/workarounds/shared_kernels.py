"""Kernels that read nothing, whose result is read on both sides of a loop or a branch: ``y = f(); g(loop(y), y)``.

IREE 3.13 gives each schedule a copy of such a kernel, and sometimes keeps one outside of all schedules: "streamable op expected to be in an
execution region". With a barrier behind it, the kernel runs once.
"""

from collections.abc import Iterator

from plugjax_iree.mlir import UTIL_BARRIER, Mlir, in_block, insert_barrier, name_of, named, users
from plugjax_iree.mlir.kernels import CODE

_KERNEL = b"flow.dispatch"
_VIEW = b"flow.tensor.reshape"
_READ_BACK = b"flow.tensor.load"


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    count = 0
    for kernel in list(named(mlir, module, _KERNEL, outside=CODE)):
        results = [mlir.result(kernel, i) for i in range(mlir.result_count(kernel))]
        if not mlir.operand_count(kernel) and _is_read_apart(mlir, results):
            for result in results:
                insert_barrier(mlir, kernel, result, UTIL_BARRIER)
                count += 1
    return count


def _is_read_apart(mlir: Mlir, values: list[int]) -> bool:
    """Whether the readers of values lie in several blocks, or have between them what ends a schedule."""
    readers = {reader for value in values for reader in _readers(mlir, value)}
    homes = {mlir.block_of(reader) for reader in readers}
    if len(homes) != 1:
        return len(homes) > 1
    block = list(in_block(mlir, homes.pop()))
    places = [i for i, operation in enumerate(block) if operation in readers]
    between = block[places[0] + 1 : places[-1]]
    return any(name_of(mlir, o) == _READ_BACK or mlir.region_count(o) for o in between)


def _readers(mlir: Mlir, value: int) -> Iterator[int]:
    """The operations that read a value, through views."""
    for user in users(mlir, value):
        if name_of(mlir, user) == _VIEW:
            yield from _readers(mlir, mlir.result(user, 0))
        else:
            yield user
