"""Long computations on constants, for which IREE 3.13 takes exponential time and memory.

What comes of constants and counters alone is copied into each operation that reads it. A value that is read twice is there twice, so after
the twenty rounds of a hash of a constant key (``random.normal(random.key(0), ...)`` in a compiled function) the program has millions of
copies, and the compiler uses up the machine's memory. Behind a barrier IREE does not know that a value is constant: one stands wherever a
copy would have grown to `LIMIT` operations.
"""

from typing import Any

from plugjax_iree.mlir import (
    BARRIER,
    Mlir,
    bar,
    borrowed,
    name_of,
    operands,
    operations,
)

#: How many operations the copy of a value may take; twice as many are as fast to compile.
LIMIT = 128

_BEGINNINGS = (b"stablehlo.constant", b"stablehlo.iota")


def cut(invocation: Any) -> int:
    """Mends a StableHLO program that an invocation has parsed and inlined; returns how many barriers it took.

    Args:
        invocation: IREE's handle (``Invocation._inv_p``), before its own phases.
    """
    with borrowed(invocation) as (mlir, module):
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
                bar(mlir, operation, mlir.result(operation, 0))
                barriers += 1
            elif length:
                lengths[mlir.result(operation, 0)] = length
    return barriers


def _length(mlir: Mlir, operation: int, lengths: dict[int, int]) -> int:
    """0 if it is not made of constants."""
    read = operands(mlir, operation)
    if not read:
        return int(name_of(mlir, operation) in _BEGINNINGS)
    if any(value not in lengths for value in read) or name_of(mlir, operation) == BARRIER:
        return 0
    return 1 + sum(lengths[value] for value in read)
