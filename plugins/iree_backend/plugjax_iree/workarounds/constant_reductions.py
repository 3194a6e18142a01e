"""Reductions of constants, which IREE 3.13 computes wrongly.

IREE folds the reduction of a splat, an array that holds one value everywhere, to that value: the sum of ``ones(4) / 4`` is 0.25, and so is the product of
``ones(4)`` and ``ones(4) / 4``. No flag changes it. Splats come from constants and from folding: ``t >= 0`` of unsigned ``t``, ``t % 1``, the result of a loop of length 0, a value
that all branches return. Behind a barrier the compiler does not know that the operand is constant, and reduces it.

A barrier also prevents the fusion of the operand into the reduction, so there is one only where an operand may be found to be constant. A
forward analysis decides that: floating-point results of arguments are never folded, as no identity holds for nan; integers and comparisons
may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum

from plugjax_iree.mlir import (
    BARRIER,
    Mlir,
    blocks,
    in_block,
    insert_operand_barrier,
    is_zero,
    name_of,
    operands,
    operations,
    size_of,
)


class Known(IntEnum):
    """What the compiler may find out about the elements of an array; the worse is the greater."""

    NOTHING = 0
    ZERO = 1
    """They may all be 0, and are no other constant."""
    CONSTANT = 2


_REDUCTIONS = (b"stablehlo.reduce", b"stablehlo.reduce_window", b"stablehlo.select_and_scatter")
# A constant is its own greatest element.
_IDEMPOTENT = (b"stablehlo.maximum", b"stablehlo.minimum", b"stablehlo.and", b"stablehlo.or")
_SUM = b"stablehlo.add"
_WHILE = b"stablehlo.while"
_BRANCHES = (b"stablehlo.if", b"stablehlo.case")
# Their results are as constant as the first operand is.
_MOVES = (
    b"flow.tensor.clone",
    b"stablehlo.bitcast_convert",
    b"stablehlo.broadcast_in_dim",
    b"stablehlo.convert",
    b"stablehlo.dynamic_slice",
    b"stablehlo.gather",
    b"stablehlo.reduce",
    b"stablehlo.reduce_window",
    b"stablehlo.reshape",
    b"stablehlo.reverse",
    b"stablehlo.slice",
    b"stablehlo.transpose",
)
# Their results are constant only if all operands are.
_JOINS = (b"stablehlo.concatenate", b"stablehlo.pad", b"stablehlo.complex")
# They may give any of their operands.
_CHOICES = (b"stablehlo.dynamic_update_slice", b"stablehlo.scatter")
_UNKNOWN = (
    BARRIER,
    b"func.call",
    b"stablehlo.custom_call",
    b"stablehlo.rng_bit_generator",
)
_SUMS_OF_PRODUCTS = (b"stablehlo.convolution", b"stablehlo.dot_general")
_PRODUCTS = (*_SUMS_OF_PRODUCTS, b"stablehlo.is_finite")


def apply(mlir: Mlir, module: int) -> int:
    """Insert barriers before reductions of constants; returns their number."""
    analysis = _Analysis(mlir)
    for function in operations(mlir, module):
        analysis.run(operations(mlir, function))
    for reduction, index in analysis.found:
        insert_operand_barrier(mlir, reduction, index)
    return len(analysis.found)


class _Analysis:
    """What is known of each value.

    Attributes:
        found: reductions of what may be constant, and the positions of such operands.
    """

    def __init__(self, mlir: Mlir) -> None:
        self.mlir = mlir
        self.found: list[tuple[int, int]] = []
        self._known: dict[int, Known] = {}

    def run(self, program: Iterator[int]) -> list[Known]:
        """Go through the operations of a block; returns what is known of what the last one gives on."""
        last: list[Known] = []
        for operation in program:
            last = [self._of(v) for v in operands(self.mlir, operation)]
            name = name_of(self.mlir, operation)
            if name == _WHILE:
                results = self._loop(operation, last)
            elif name in _BRANCHES:
                results = self._branches(operation)
            else:
                if name in _REDUCTIONS:
                    last = self._reduced(operation, last)
                elif name in _SUMS_OF_PRODUCTS and min(last) is Known.CONSTANT:
                    self.found.append((operation, 0))
                    last = [Known.NOTHING, *last[1:]]
                results = self._results(name, operation, last)
            for i, known in enumerate(results):
                if known:
                    self._known[self.mlir.result(operation, i)] = known
        return last

    def _of(self, value: int) -> Known:
        return self._known.get(value, Known.NOTHING)

    def _loop(self, loop: int, start: Sequence[Known]) -> list[Known]:
        # It may run never, or once; and what it does not change is what it starts with.
        end: list[Known] = []
        for block in blocks(self.mlir, loop):
            for i, known in enumerate(start):
                self._known[self.mlir.argument(block, i)] = known
            end = self.run(in_block(self.mlir, block))
        return [max(pair) for pair in zip(start, end, strict=True)]

    def _branches(self, operation: int) -> list[Known]:
        ends = [self.run(in_block(self.mlir, block)) for block in blocks(self.mlir, operation)]
        return [max(known) for known in zip(*ends, strict=True)]

    def _reduced(self, reduction: int, read: Sequence[Known]) -> list[Known]:
        """Record the operands that need a barrier; returns what is known behind it."""
        first = next(blocks(self.mlir, reduction))
        if name_of(self.mlir, reduction) == b"stablehlo.select_and_scatter":
            *_, first = blocks(self.mlir, reduction)
        steps = [name_of(self.mlir, step) for step in in_block(self.mlir, first)]
        single = len(steps) == 2
        if single and steps[0] in _IDEMPOTENT:
            return list(read)
        harmless = Known.ZERO if single and steps[0] == _SUM else Known.NOTHING
        # Half of the operands are what the reduction starts with.
        for i, known in enumerate(read[: len(read) // 2]):
            if known > harmless:
                self.found.append((reduction, i))
        return [Known.NOTHING] * len(read)

    def _results(self, name: bytes, operation: int, read: Sequence[Known]) -> list[Known]:
        count = self.mlir.result_count(operation)
        if not count or name in _UNKNOWN:
            return []
        if name == b"stablehlo.constant":
            return [Known.ZERO if is_zero(self.mlir, operation) else Known.CONSTANT]
        if name == b"stablehlo.iota" or not read:
            return [Known.CONSTANT] * count
        if name == b"stablehlo.sort":
            return list(read)
        if name in _MOVES:
            return [read[0]] * count
        if name in _JOINS:
            return [self._joined(operation, read)]
        if name in _CHOICES:
            return [max(read[0], read[-1])] * count
        if name == b"stablehlo.select":
            return [self._selected(operation, read)]
        if self._is_computed(name, operation, read):
            return [Known.NOTHING] * count
        return [Known.CONSTANT] * count

    def _joined(self, operation: int, read: Sequence[Known]) -> Known:
        sized = [
            known
            for value, known in zip(operands(self.mlir, operation), read, strict=True)
            if size_of(self.mlir, value)
        ]
        return max(sized) if sized and all(sized) else Known.NOTHING

    def _selected(self, operation: int, read: Sequence[Known]) -> Known:
        _, one, other = operands(self.mlir, operation)
        if read[0] or one == other:
            return max(read[1:])
        return Known.NOTHING

    def _is_computed(self, name: bytes, operation: int, read: Sequence[Known]) -> bool:
        """Whether the result is never found to be constant, though operands may be."""
        if name in _PRODUCTS:
            return not all(read)
        if name == b"stablehlo.compare":
            # With nan, a comparison is known.
            is_float = self._is_float(self.mlir.operand(operation, 0))
            return is_float and Known.NOTHING in read and Known.CONSTANT not in read
        if name == b"stablehlo.power" and read[1]:
            return False
        return self._is_float(self.mlir.result(operation, 0)) and not all(read)

    def _is_float(self, value: int) -> bool:
        element = self.mlir.element_type(self.mlir.type_of(value))
        return self.mlir.is_float(element) or self.mlir.is_complex(element)
