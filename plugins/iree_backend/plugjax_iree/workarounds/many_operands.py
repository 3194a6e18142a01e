"""Operations on many arrays: the sum of forty.

IREE 3.13 fuses elementwise operations of more than 32 arrays into one kernel, but its runtime calls none with so many ("binding count 41 > 32"). So what is computed of more than `MOST` arrays is computed in parts, with barriers between them.

Where IREE finds more to fuse than is seen here, the program is refused before it runs, and compiled without any fusion (`one_by_one`).
"""

from plugjax_iree.mlir import (
    PROGRAMS,
    Mlir,
    insert_operand_barrier,
    is_copy,
    name_of,
    operands,
    walk,
)

# A kernel may also take what the reduction before it is computed of, and it has results.
MOST = 16
_CONSTANTS = (b"stablehlo.constant", b"stablehlo.iota")
# Their results are arrays in memory, for what follows.
_ARRAYS = (
    b"flow.tensor.clone",
    *(
        f"stablehlo.{name}".encode()
        for name in [
            "concatenate",
            "convolution",
            "custom_call",
            "dot_general",
            "dynamic_update_slice",
            "fft",
            "optimization_barrier",
            "pad",
            "reduce",
            "reduce_window",
            "rng_bit_generator",
            "scatter",
            "sort",
        ]
    ),
)


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers; returns their number."""
    arrays: dict[int, frozenset[int]] = {}
    count = 0
    for operation in list(walk(mlir, module)):
        name = name_of(mlir, operation)
        if name in PROGRAMS or is_copy(mlir, operation):
            continue
        values = operands(mlir, operation)
        read = [arrays.get(value, frozenset([value])) for value in values]
        while len(frozenset().union(*read)) > MOST and max(map(len, read)) > 1:
            largest = max(range(len(read)), key=lambda i: len(read[i]))
            insert_operand_barrier(mlir, operation, largest)
            read[largest] = frozenset([mlir.operand(operation, largest)])
            count += 1
        if name in _CONSTANTS:
            arrays[mlir.result(operation, 0)] = frozenset()
        elif name not in _ARRAYS and mlir.result_count(operation) == 1:
            arrays[mlir.result(operation, 0)] = frozenset().union(*read)
    return count
