"""Values behind barriers that several loops or branches read: ``y = optimization_barrier(x); f(y), loop(y), another_loop(y)``.

IREE 3.13 does not know the size of such a value. It asks for it in the first loop and uses the answer in the next one, where it is not visible, and
refuses the program: "operand #6 does not dominate this use". So each loop and each branch reads the value behind a barrier of its own.
"""

from plugjax_iree.mlir import (
    UTIL_BARRIER,
    Mlir,
    blocks,
    in_block,
    insert_barrier_behind,
    name_of,
    operands,
    operations,
)
from plugjax_iree.mlir.kernels import CODE
from plugjax_iree.mlir.loops import STRUCTURED

_ENDS = (b"scf.condition", b"scf.yield", b"util.return")


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    return sum(
        _separate(mlir, block, set())
        for function in operations(mlir, module)
        if name_of(mlir, function) != CODE
        for block in blocks(mlir, function)
    )


def _separate(mlir: Mlir, block: int, hidden: set[int]) -> int:
    """Within one block; ``hidden`` has the values behind barriers that are defined outside of it."""
    hidden = set(hidden)
    last: dict[int, int] = {}
    count = 0
    for operation in list(in_block(mlir, block)):
        name = name_of(mlir, operation)
        if name == UTIL_BARRIER:
            hidden.update(mlir.result(operation, i) for i in range(mlir.result_count(operation)))
        if name not in STRUCTURED and name not in _ENDS:
            continue
        own = set()
        for value in _read(mlir, operation) & hidden:
            if value in last:
                # Behind the barrier of the operation before: equal barriers would be eliminated.
                last[value] = insert_barrier_behind(mlir, last[value])
                _replace(mlir, operation, value, last[value])
                count += 1
            else:
                last[value] = value
            own.add(last[value])
        count += sum(_separate(mlir, inner, own) for inner in blocks(mlir, operation))
    return count


def _read(mlir: Mlir, operation: int) -> set[int]:
    """The values that an operation or one in its regions reads."""
    found = set(operands(mlir, operation))
    for inner in operations(mlir, operation):
        found |= _read(mlir, inner)
    return found


def _replace(mlir: Mlir, operation: int, old: int, new: int) -> None:
    for i, value in enumerate(operands(mlir, operation)):
        if value == old:
            mlir.set_operand(operation, i, new)
    for inner in operations(mlir, operation):
        _replace(mlir, inner, old, new)
