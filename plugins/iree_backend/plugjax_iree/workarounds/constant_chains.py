"""Long computations on constants, which IREE 3.13 copies into every user.

IREE rematerialises an expression of constants and iotas in each operation that uses it. A value with two users exists twice, so after the
twenty rounds of a hash of a constant key (``random.normal(random.key(0), ...)`` in a compiled function) the program has millions of copies, and
the compiler takes all memory. A barrier hides that a value is constant. One is inserted wherever a copy would exceed `LIMIT` operations.
"""

from plugjax_iree.mlir import BARRIER, Mlir, insert_barrier, name_of, operands, operations

#: How many operations the copy of a value may take; twice as many are as fast to compile.
LIMIT = 128

_BEGINNINGS = (b"stablehlo.constant", b"stablehlo.iota")


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers into long chains; returns their number."""
    return _cut(mlir, module, {})


def _cut(mlir: Mlir, program: int, lengths: dict[int, int]) -> int:
    """Within one operation's regions; ``lengths`` has the size of the copy of each value that is made of constants."""
    barriers = 0
    for operation in list(operations(mlir, program)):
        if mlir.region_count(operation):
            barriers += _cut(mlir, operation, lengths)
        elif mlir.result_count(operation) == 1:
            length = _length(mlir, operation, lengths)
            if length > LIMIT:
                insert_barrier(mlir, operation, mlir.result(operation, 0))
                barriers += 1
            elif length:
                lengths[mlir.result(operation, 0)] = length
    return barriers


def _length(mlir: Mlir, operation: int, lengths: dict[int, int]) -> int:
    """Size of the copy; 0 if the value is not made of constants."""
    read = operands(mlir, operation)
    if not read:
        return int(name_of(mlir, operation) in _BEGINNINGS)
    if any(value not in lengths for value in read) or name_of(mlir, operation) == BARRIER:
        return 0
    return 1 + sum(lengths[value] for value in read)
