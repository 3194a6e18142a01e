"""Loops over scalars and small arrays, as one kernel.

IREE 3.13 runs each step of a loop as a kernel or more, and reads the condition back: 7 to 15 us a step. A loop whose steps are elementwise
becomes the body of one elementwise operation, which runs the whole loop for each element: some nanoseconds a step. Values of the loop are
scalars, or arrays of one shape; arrays that are large would lose their vector instructions. Results that are scalars have a kernel of their
own if others are arrays.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from plugjax_iree.mlir import (
    UTIL_BARRIER,
    Builder,
    Mlir,
    blocks,
    defining_op,
    in_block,
    name_of,
    operands,
    operations,
    printed,
    shape_of,
)

_WHILE, _FOR, _BRANCH = b"scf.while", b"scf.for", b"scf.if"
# The bounds and the step of a loop that counts.
_COUNTS = 3
_FUNCTION = b"linalg.generic"
_SCALAR = (b"arith.", b"math.")
# Parts of arrays; where these are known before the loop, so are their parts.
_VIEWS = (b"tensor.extract_slice", b"tensor.collapse_shape", b"tensor.expand_shape")
_SAME = (UTIL_BARRIER, b"tensor.extract", b"tensor.from_elements")
# Elements times operations, below which a step takes less time in scalars than as a kernel.
_MOST_WORK = 4096
# The runtime passes 32 arrays to a kernel at most.
_MOST_ARRAYS = 32

Shape = tuple[int, ...]


class _UnsuitedError(Exception):
    """A loop that does more than elementwise functions."""


def apply(mlir: Mlir, module: int) -> int:
    """Replace the loops; returns their number."""
    found = list(_loops(mlir, module))
    for loop, moved in found:
        _replace(mlir, loop, moved)
    return len(found)


def _loops(mlir: Mlir, parent: int) -> Iterator[tuple[int, list[int]]]:
    """The outermost loops that can be replaced, each with the operations in it that depend on nothing in it."""
    for operation in operations(mlir, parent):
        name = name_of(mlir, operation)
        reader = _reading(mlir, operation) if name in (_WHILE, _FOR) else None
        if reader is not None:
            yield operation, reader.moved
        elif name != _FUNCTION:
            yield from _loops(mlir, operation)


def _reading(mlir: Mlir, loop: int) -> _Reader | None:
    """What is in a loop, if it can be replaced."""
    reader = _Reader(mlir, _Nothing())
    try:
        reader.loop(loop)
        _Reader(mlir, _Nothing(), scalars_only=True).loop(loop)
    except _UnsuitedError:
        return None
    if len(reader.captured) + mlir.result_count(loop) > _MOST_ARRAYS:
        return None
    is_small = math.prod(reader.shape or ()) * reader.work <= _MOST_WORK
    return reader if is_small or not reader.shape else None


def _replace(mlir: Mlir, loop: int, moved: Sequence[int]) -> None:
    for step in moved:
        mlir.remove(step)
        mlir.insert_before(mlir.block_of(loop), loop, step)
    results = [mlir.result(loop, i) for i in range(mlir.result_count(loop))]
    used = [i for i, value in enumerate(results) if mlir.first_use(value) is not None]
    for spread in (True, False):
        chosen = [i for i in used if bool(shape_of(mlir, results[i])) == spread]
        if chosen:
            _write(mlir, loop, chosen)
    mlir.destroy(loop)


def _write(mlir: Mlir, loop: int, chosen: Sequence[int]) -> None:
    """Write an operation that computes some results of a loop, all scalars or all arrays, and let their users read it."""
    results = [mlir.result(loop, i) for i in chosen]
    shape = shape_of(mlir, results[0])
    # No scalar depends on an array: there are no sums.
    scalars_only = not shape
    # Once to see what is read, and once to write.
    reader = _Reader(mlir, _Nothing(), scalars_only)
    reader.loop(loop)
    build = Builder(mlir, loop)
    captured = list(reader.captured)
    empty = [build.before(b"tensor.empty", [mlir.type_of(value)], []) for value in results]
    types = [mlir.element_type(mlir.type_of(value)) for value in (*captured, *empty)]
    block = build.block(types)
    build.into = block
    writer = _Reader(mlir, build, scalars_only)
    writer.captured = {value: mlir.argument(block, i) for i, value in enumerate(captured)}
    writer.loop(loop)
    build.append(b"linalg.yield", [], [writer.of(value) for value in results])
    dims = ", ".join(f"d{axis}" for axis in range(len(shape)))
    maps = [dims if shape_of(mlir, value) else "" for value in (*captured, *empty)]
    attributes = {
        b"indexing_maps": "[" + ", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps) + "]",
        b"iterator_types": "[" + ", ".join(["#linalg.iterator_type<parallel>"] * len(shape)) + "]",
        b"operandSegmentSizes": f"array<i32: {len(captured)}, {len(empty)}>",
    }
    kinds = [mlir.type_of(value) for value in results]
    written = build.operation(b"linalg.generic", kinds, [*captured, *empty], attributes, [block])
    mlir.insert_before(mlir.block_of(loop), loop, written)
    for i, value in enumerate(results):
        mlir.replace(value, mlir.result(written, i))


class _Nothing:
    """A builder that writes nothing: what a loop reads and does is seen by it."""

    into = 0

    def block(self, types: Sequence[int]) -> int:
        return 0

    def arguments(self, block: int, count: int) -> list[int]:
        return [0] * count

    def clone(self, operation: int, values: Sequence[int]) -> list[int]:
        return [0]

    def constant(self, value: str, kind: int) -> int:
        return 0

    def append(self, _name: bytes, types: Sequence[int], *_: Sequence[int]) -> list[int]:
        return [0] * len(types)


class _Carry(NamedTuple):
    """A value that goes through a loop or out of a branch."""

    position: int
    kind: int


class _Reader:
    """Goes through a loop and writes its steps in scalars.

    Attributes:
        captured: arrays from outside, and the scalars that stand for their elements.
        shape: of all arrays.
        moved: operations that depend on nothing in the loop.
        work: operations of a step.
    """

    def __init__(self, mlir: Mlir, build: Builder | _Nothing, scalars_only: bool = False) -> None:
        self.mlir, self.build, self.scalars_only = mlir, build, scalars_only
        self.captured: dict[int, int] = {}
        self.known: dict[int, int] = {}
        self.shape: Shape | None = None
        self.moved: list[int] = []
        self._inside: set[int] = set()
        self.work = 0

    def is_kept(self, value: int) -> bool:
        """Whether a value is computed: arrays are not in a kernel for scalars. Learns the shape of arrays."""
        if not self.mlir.is_array(self.mlir.type_of(value)):
            return True
        shape = shape_of(self.mlir, value)
        if shape and self.shape not in (None, shape):
            raise _UnsuitedError
        self.shape = shape or self.shape
        element = self.mlir.element_type(self.mlir.type_of(value))
        if not (self.mlir.is_integer(element) or self.mlir.is_float(element)):
            raise _UnsuitedError
        return not (shape and self.scalars_only)

    def of(self, value: int) -> int:
        """The scalar that stands for a value."""
        if value in self.known:
            return self.known[value]
        if not self.mlir.is_array(self.mlir.type_of(value)):
            return value
        if value in self._inside or not self.is_kept(value):
            raise _UnsuitedError
        constant = defining_op(self.mlir, value)
        if constant is not None and name_of(self.mlir, constant) == b"arith.constant":
            # Anew in each block: one block does not see what another one has written.
            return self.constant(constant)
        return self.captured.setdefault(value, 0)

    def loop(self, loop: int) -> None:
        """Write a loop."""
        write = self._while if name_of(self.mlir, loop) == _WHILE else self._for
        self._name(loop, write(loop))

    def _while(self, loop: int) -> list[int]:
        mlir, build = self.mlir, self.build
        before, after = blocks(mlir, loop)
        started = self._carries(operands(mlir, loop))
        initial = [self.of(operands(mlir, loop)[c.position]) for c in started]
        outer = build.into
        first = self._enter(before, started)
        condition, *passed = operands(mlir, self.steps(before))
        going = self._carries(passed)
        values = [self.of(condition), *(self.of(passed[c.position]) for c in going)]
        build.append(b"scf.condition", [], values)
        second = self._enter(after, going)
        given = operands(mlir, self.steps(after))
        build.append(b"scf.yield", [], [self.of(given[c.position]) for c in started])
        build.into = outer
        return build.append(_WHILE, [c.kind for c in going], initial, [first, second])

    def _for(self, loop: int) -> list[int]:
        mlir, build = self.mlir, self.build
        (body,) = blocks(mlir, loop)
        counts, given = operands(mlir, loop)[:_COUNTS], operands(mlir, loop)[_COUNTS:]
        started = self._carries(given)
        initial = [self.of(value) for value in (*counts, *(given[c.position] for c in started))]
        outer = build.into
        number = _Carry(0, mlir.type_of(counts[0]))
        inner = self._enter(body, [number, *(c._replace(position=c.position + 1) for c in started)])
        passed = operands(mlir, self.steps(body))
        build.append(b"scf.yield", [], [self.of(passed[c.position]) for c in started])
        build.into = outer
        return build.append(_FOR, [c.kind for c in started], initial, [inner])

    def branch(self, branch: int) -> None:
        """Write a branch."""
        mlir, build = self.mlir, self.build
        parts = list(blocks(mlir, branch))
        if len(parts) < mlir.region_count(branch):
            raise _UnsuitedError  # One of the two does nothing.
        kept, outer, written = self._carries(self._results(branch)), build.into, []
        for part in parts:
            written.append(self._enter(part, ()))
            given = operands(mlir, self.steps(part))
            build.append(b"scf.yield", [], [self.of(given[c.position]) for c in kept])
        build.into = outer
        (condition,) = operands(mlir, branch)
        self._name(branch, build.append(_BRANCH, [c.kind for c in kept], [self.of(condition)], written))  # fmt: skip

    def steps(self, block: int) -> int:
        """Write the operations of a block; returns its last."""
        *steps, end = in_block(self.mlir, block)
        for step in steps:
            self.step(step)
        return end

    def step(self, step: int) -> None:
        """Write an operation."""
        mlir, name = self.mlir, name_of(self.mlir, step)
        if name in _VIEWS and not self._inside.intersection(operands(mlir, step)):
            self.moved.append(step)
            return
        self._inside.update(self._results(step))
        if name == b"tensor.empty":
            return  # It has no elements to read.
        if name in (_WHILE, _FOR):
            self.loop(step)
        elif name == _BRANCH:
            self.branch(step)
        elif name == b"arith.constant" and mlir.is_array(mlir.type_of(mlir.result(step, 0))):
            (value,) = self._results(step)
            if self.is_kept(value):
                self.known[value] = self.constant(step)
        elif name in _SAME:
            self.same(step)
        elif not all(map(self.is_kept, (*operands(mlir, step), *self._results(step)))):
            return
        elif name == b"linalg.fill":
            self._name(step, [self.of(mlir.operand(step, 0))])
        elif name == _FUNCTION:
            self.function(step)
        else:
            self.scalar(step)

    def same(self, step: int) -> None:
        """Name results that are operands."""
        if len(operands(self.mlir, step)) != len(self._results(step)):
            raise _UnsuitedError  # An element of an array by its index.
        for value, result in zip(operands(self.mlir, step), self._results(step), strict=True):
            if self.is_kept(result):
                self.known[result] = self.of(value)

    def constant(self, step: int) -> int:
        """Write a constant whose elements are equal; returns it."""
        (value,) = self._results(step)
        text = re.fullmatch(r"dense<([^\[\]\"]+)> : tensor<.*>", printed(self.mlir, step, b"value"))
        if text is None:
            raise _UnsuitedError
        element = self.mlir.element_type(self.mlir.type_of(value))
        return self.build.constant(text[1], element)

    def function(self, step: int) -> None:
        """Write an elementwise function."""
        mlir = self.mlir
        maps = re.findall(
            r"affine_map<\((.*?)\) -> \((.*?)\)>", printed(mlir, step, b"indexing_maps")
        )
        if any(read not in (dims, "") for dims, read in maps):
            raise _UnsuitedError
        kinds = re.findall(r"iterator_type<(\w+)>", printed(mlir, step, b"iterator_types"))
        if any(kind != "parallel" for kind in kinds):
            raise _UnsuitedError
        (body,) = blocks(mlir, step)
        results = self._results(step)
        read = operands(mlir, step)[: -len(results)]
        for i, value in enumerate(read):
            self.known[mlir.argument(body, i)] = self.of(value)
        *inner, end = in_block(mlir, body)
        if any(mlir.first_use(mlir.argument(body, len(read) + i)) for i in range(len(results))):
            raise _UnsuitedError  # It adds to what is there.
        for operation in inner:
            self.scalar(operation)
        self._name(step, [self.of(value) for value in operands(mlir, end)])

    def scalar(self, step: int) -> None:
        """Write an operation on scalars."""
        mlir = self.mlir
        values = (*operands(mlir, step), *self._results(step))
        on_arrays = any(mlir.is_array(mlir.type_of(value)) for value in values)
        is_plain = name_of(mlir, step).startswith(_SCALAR) and len(self._results(step)) == 1
        if on_arrays or not is_plain or mlir.region_count(step):
            raise _UnsuitedError
        self.work += 1
        self._name(step, self.build.clone(step, [self.of(value) for value in operands(mlir, step)]))

    def _carries(self, values: Sequence[int]) -> list[_Carry]:
        return [
            _Carry(i, self._kind(value)) for i, value in enumerate(values) if self.is_kept(value)
        ]

    def _kind(self, value: int) -> int:
        kind = self.mlir.type_of(value)
        return self.mlir.element_type(kind) if self.mlir.is_array(kind) else kind

    def _enter(self, block: int, carries: Sequence[_Carry]) -> int:
        """A new block for the steps of one; its arguments are carries."""
        self.build.into = written = self.build.block([c.kind for c in carries])
        given = self.build.arguments(written, len(carries))
        count = self.mlir.argument_count(block)
        self._inside.update(self.mlir.argument(block, i) for i in range(count))
        for carry, value in zip(carries, given, strict=True):
            self.known[self.mlir.argument(block, carry.position)] = value
        return written

    def _results(self, step: int) -> list[int]:
        return [self.mlir.result(step, i) for i in range(self.mlir.result_count(step))]

    def _name(self, step: int, values: Sequence[int]) -> None:
        kept = filter(self.is_kept, self._results(step))
        self.known.update(zip(kept, values, strict=True))
