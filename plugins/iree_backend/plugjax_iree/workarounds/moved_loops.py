"""Parts of an array that do not need a loop which gives another part: ``y = f(x); concatenate([loop(x), y])``.

IREE 3.13 computes a part right where it belongs in the whole. To this end it moves what the whole needs before the kernel of that part: a loop
too, but not the values that the loop only reads inside ("operand #4 does not dominate this use", "circular dependency"). A part behind a
barrier is computed elsewhere and copied.
"""

from plugjax_iree.mlir import (
    BARRIER,
    PROGRAMS,
    Mlir,
    blocks,
    defining_op,
    in_block,
    insert_operand_barrier,
    name_of,
    operands,
    walk,
)
from plugjax_iree.mlir.products import sources

_WHOLES = (b"stablehlo.concatenate", b"stablehlo.dynamic_update_slice")
_VIEWS = (b"stablehlo.bitcast_convert", b"stablehlo.reshape")
_ELSEWHERE = (*PROGRAMS, BARRIER, b"stablehlo.constant")


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    programs = [op for op in walk(mlir, module) if name_of(mlir, op) in PROGRAMS]
    return sum(_in_block(mlir, block) for program in programs for block in blocks(mlir, program))


def _in_block(mlir: Mlir, block: int) -> int:
    seen: set[int] = set()
    # For each operation, the place of the last loop or branch that its results depend on; -1 if there is none.
    loops: dict[int, int] = {}
    count = 0
    for place, operation in enumerate(list(in_block(mlir, block))):
        seen.add(operation)
        origins = [defining_op(mlir, value) for value in operands(mlir, operation)]
        behind = [loops.get(origin, -1) if origin else -1 for origin in origins]
        name = name_of(mlir, operation)
        if name in _WHOLES:
            last = max(behind)
            for i, before in enumerate(behind[: 2 if name == _WHOLES[1] else None]):
                part = _computed(mlir, mlir.operand(operation, i))
                if before < last and part in seen:
                    insert_operand_barrier(mlir, operation, i)
                    count += 1
        loops[operation] = place if name in PROGRAMS else max(behind, default=-1)
    return count


def _computed(mlir: Mlir, value: int) -> int | None:
    """The kernel that gives a value, through views; ``None`` if it is no kernel's result."""
    origins = sources(mlir, value, _VIEWS)
    origin = next((o for o in origins if name_of(mlir, o) not in _VIEWS), None)
    return None if origin is None or name_of(mlir, origin) in _ELSEWHERE else origin
