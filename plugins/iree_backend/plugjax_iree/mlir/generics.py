"""Operations of ``linalg`` on whole arrays: reading their loops, and writing new ones."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from plugjax_iree.mlir.building import Builder
from plugjax_iree.mlir.interface import Mlir
from plugjax_iree.mlir.products import sources
from plugjax_iree.mlir.reading import (
    blocks,
    in_block,
    name_of,
    operands,
    printed,
    shape_of,
    written_type,
)
from plugjax_iree.mlir.rewriting import UTIL_BARRIER, i64s

GENERIC = b"linalg.generic"
FILL = b"linalg.fill"
# Its operands are a piece, and the array that it is written into.
INSERT = b"tensor.insert_slice"
# The elements of the first operand in their order, maybe in its buffer.
VIEWS = (
    UTIL_BARRIER,
    b"flow.tensor.clone",
    b"iree_tensor_ext.compute_barrier.end",
    b"iree_tensor_ext.compute_barrier.start",
    b"tensor.collapse_shape",
    b"tensor.expand_shape",
)
PARALLEL, REDUCTION = "parallel", "reduction"
_KINDS = re.compile(f"{PARALLEL}|{REDUCTION}")
_MAPS = re.compile(r"-> \(([^)]*)\)>")
_LOOP = re.compile(r"d\d+")


class Loops(NamedTuple):
    """The loops of an operation.

    Attributes:
        kinds: `PARALLEL` or `REDUCTION`, of each loop.
        maps: of each operand, the loops that its axes run along, in their order.
    """

    kinds: tuple[str, ...]
    maps: tuple[tuple[int, ...], ...]


def loops_of(mlir: Mlir, operation: int) -> Loops | None:
    """The loops of a ``linalg.generic``; ``None`` if an operand is read otherwise than along whole axes."""
    kinds = tuple(_KINDS.findall(printed(mlir, operation, b"iterator_types")))
    maps = maps_of(mlir, operation)
    whole = bool(maps) and all(-1 not in axes and len(set(axes)) == len(axes) for axes in maps)
    return Loops(kinds, maps) if whole else None


def is_fusible(mlir: Mlir, value: int) -> bool:
    """Whether a value comes from an operation that may be in the kernel of what reads it: one of ``linalg`` with no barrier behind it."""
    names = [name_of(mlir, operation) for operation in sources(mlir, value, VIEWS)]
    is_computed = names and names[-1].startswith(b"linalg.") and names[-1] != FILL
    return bool(is_computed) and UTIL_BARRIER not in names


def maps_of(mlir: Mlir, operation: int) -> tuple[tuple[int, ...], ...]:
    """Of each operand, the loops that its axes run along; -1 for an axis that is no loop. Empty if the operation does not say, or says it with parentheses."""
    found = _MAPS.findall(printed(mlir, operation, b"indexing_maps"))
    if len(found) != mlir.operand_count(operation):
        return ()
    return tuple(
        tuple(int(a[1:]) if _LOOP.fullmatch(a) else -1 for a in axes.split(", ") if a)
        for axes in found
    )


def body_of(mlir: Mlir, operation: int) -> tuple[list[int], list[int]]:
    """The arguments of an operation's scalar function, and its operations; the last gives its results."""
    (block,) = blocks(mlir, operation)
    count = mlir.argument_count(block)
    return [mlir.argument(block, i) for i in range(count)], list(in_block(mlir, block))


class Writer(Builder):
    """Writes operations on whole arrays before another operation, one after the other."""

    def array(self, shape: Sequence[int], element: int) -> int:
        """The type of an array."""
        written = written_type(self._mlir, element)
        return self.type(f"tensor<{''.join(f'{n}x' for n in shape)}{written}>")

    def put(self, operation: int) -> int:
        """The result of an operation that has no place yet, and gets it now."""
        self._mlir.insert_before(self._mlir.block_of(self._place), self._place, operation)
        return self._mlir.result(operation, 0)

    def number(self, value: str, element: int) -> int:
        """A number, as MLIR writes it without its type."""
        attributes = {b"value": f"{value} : {written_type(self._mlir, element)}"}
        return self.put(self.operation(b"arith.constant", [element], [], attributes))

    def filled(self, shape: Sequence[int], number: int) -> int:
        """An array of one number."""
        element = self._mlir.type_of(number)
        kind = self.array(shape, element)
        empty = self.put(self.operation(b"tensor.empty", [kind], [], {}))
        block = self.block([element, element])
        self.into = block
        self.append(b"linalg.yield", [], [self._mlir.argument(block, 0)])
        sizes = {b"operandSegmentSizes": "array<i32: 1, 1>"}
        return self.put(self.operation(FILL, [kind], [number, empty], sizes, [block]))

    def part(self, value: int, start: int, size: int) -> int:
        """Some of the elements along the last axis of an array."""
        shape = (*shape_of(self._mlir, value)[:-1], size)
        kind = self.array(shape, self._mlir.element_type(self._mlir.type_of(value)))
        return self.slice(value, kind, [*[0] * (len(shape) - 1), start], shape)

    def slice(
        self,
        value: int,
        kind: int,
        offsets: Sequence[int],
        sizes: Sequence[int],
        computed: Sequence[int] = (),
    ) -> int:
        """A slice of an array, of type ``kind`` and without steps; ``computed`` has the offsets that are no numbers."""
        attributes = {
            b"operandSegmentSizes": f"array<i32: 1, {len(computed)}, 0, 0>",
            b"static_offsets": i64s(offsets),
            b"static_sizes": i64s(sizes),
            b"static_strides": i64s([1] * len(sizes)),
        }
        values = [value, *computed]
        return self.put(self.operation(b"tensor.extract_slice", [kind], values, attributes))

    def split(self, value: int, shape: Sequence[int]) -> int:
        """An array whose last axis becomes several."""
        kind = self.array(shape, self._mlir.element_type(self._mlir.type_of(value)))
        last = len(shape_of(self._mlir, value)) - 1
        groups = [*([axis] for axis in range(last)), list(range(last, len(shape)))]
        attributes = {b"reassociation": str(groups), b"static_output_shape": i64s(shape)}
        return self.put(self.operation(b"tensor.expand_shape", [kind], [value], attributes))

    def generic(self, loops: Loops, values: Sequence[int], into: int, body: int) -> int:
        """The result of an operation on some arrays, which begins with the array ``into``; ``body`` is a block."""
        dims = [f"d{i}" for i in range(len(loops.kinds))]
        maps = [
            f"affine_map<({', '.join(dims)}) -> ({', '.join(dims[i] for i in each)})>"
            for each in loops.maps
        ]
        attributes = {
            b"indexing_maps": f"[{', '.join(maps)}]",
            b"iterator_types": f"[{', '.join(f'#linalg.iterator_type<{k}>' for k in loops.kinds)}]",
            b"operandSegmentSizes": f"array<i32: {len(values)}, 1>",
        }
        kind = self._mlir.type_of(into)
        made = self.operation(GENERIC, [kind], [*values, into], attributes, [body])
        return self.put(made)

    def copied(self, array: int) -> int:
        """A choice between an array and itself behind a barrier, which the compiler cannot decide: a buffer of its own."""
        flag, kind = self.type("i1"), self._mlir.type_of(array)
        known = self.number("dense<true>", self.array((), flag))
        chosen, again = (
            self.before(UTIL_BARRIER, [self._mlir.type_of(value)], [value])
            for value in (known, array)
        )
        into = self.put(self.operation(b"tensor.empty", [kind], [], {}))
        element = self._mlir.element_type(kind)
        body = self.block([flag, element, element, element])
        arguments = self.arguments(body, 3)
        self.into = body
        self.append(b"linalg.yield", [], self.append(b"arith.select", [element], arguments))
        axes = tuple(range(len(shape_of(self._mlir, array))))
        loops = Loops((PARALLEL,) * len(axes), ((), axes, axes, axes))
        return self.generic(loops, [chosen, array, again], into, body)

    def copy(self, operations: Sequence[int], known: dict[int, int]) -> None:
        """Append copies of operations; ``known`` has a new value for old ones, and gets those of their results."""
        for operation in operations:
            values = [known.get(v, v) for v in operands(self._mlir, operation)]
            made = self.clone(operation, values)
            known.update((self._mlir.result(operation, i), result) for i, result in enumerate(made))
