"""Products of a vector and a matrix: ``v @ m``.

IREE 3.13 adds up a few columns of the matrix at a time, and so goes through memory in steps of a row. With loops that take a few rows at a time, along
their whole length, the matrix is read in the order of memory: up to ten times as fast.
"""

from plugjax_iree.mlir import Mlir, defining_op, name_of, operands, shape_of
from plugjax_iree.mlir.generics import PARALLEL, REDUCTION, Loops, body_of, loops_of
from plugjax_iree.mlir.kernels import alone_in_kernels, is_stored_only, longest_tile, tile

# Elements of the result that one workgroup computes, those that stay in registers while a few rows are added, and these.
_LONGEST, _AT_A_TIME, _ROWS = 1024, (32, 16, 8), 8


def apply(mlir: Mlir, module: int) -> int:
    """Say how such kernels go through their loops; returns their number."""
    count = 0
    for operation in alone_in_kernels(mlir, module):
        loops = loops_of(mlir, operation)
        if loops is not None and _is_product(mlir, operation, loops):
            length = shape_of(mlir, operands(mlir, operation)[-1])[-1]
            tile(mlir, operation, _tiles(loops, length))
            count += 1
    return count


def _columns(loops: Loops) -> int:
    """The loop along the result's last axis."""
    return loops.maps[-1][-1]


def _is_product(mlir: Mlir, operation: int, loops: Loops) -> bool:
    """Whether an operation multiplies vectors with matrices of which each row lies side by side, and stores what it gets."""
    if loops.kinds.count(REDUCTION) != 1 or len(loops.maps) != 3 or not loops.maps[-1]:
        return False
    row, column = loops.kinds.index(REDUCTION), _columns(loops)
    others = tuple(i for i in range(len(loops.kinds)) if i not in (row, column))
    factors = {(*others, row), (*others, row, column)}
    *arrays, into = operands(mlir, operation)
    shape = shape_of(mlir, into)
    if set(loops.maps[:2]) != factors or loops.maps[-1] != (*others, column):
        return False
    rows = shape_of(mlir, arrays[0])[len(others)]
    return (
        all(size > 0 for size in shape)
        and rows % _ROWS == shape[-1] % _AT_A_TIME[-1] == 0
        and is_stored_only(mlir, operation)
        and _multiplies_and_adds(mlir, operation)
    )


def _multiplies_and_adds(mlir: Mlir, operation: int) -> bool:
    arguments, body = body_of(mlir, operation)
    names = [name_of(mlir, o) for o in body]
    if names != [b"arith.mulf", b"arith.addf", b"linalg.yield"]:
        return False
    product, total, _ = body
    return set(operands(mlir, product)) == set(arguments[:2]) and {
        defining_op(mlir, v) or v for v in operands(mlir, total)
    } == {product, arguments[2]}


def _tiles(loops: Loops, length: int) -> dict[str, list[int]]:
    """How many steps of each loop a workgroup takes, a block of rows, and the vector instructions for one; without remainders."""
    at_a_time = next(n for n in _AT_A_TIME if length % n == 0)
    longest, column = longest_tile(length, _LONGEST, at_a_time), _columns(loops)

    def steps(of_others: int, of_columns: int, of_rows: int) -> list[int]:
        return [
            of_columns if i == column else of_others if kind == PARALLEL else of_rows
            for i, kind in enumerate(loops.kinds)
        ]

    return {
        "distribution": steps(1, longest, 0),
        "cache_reduction": steps(0, 0, _ROWS),
        "vector_common_parallel": steps(1, at_a_time, 0),
        "vector_reduction": steps(0, 0, _ROWS),
    }
