"""Gathers from slices whose elements do not lie side by side: ``x[:, 0][i]``, ``pad(x, ((0, 0), (-1, 0)))[:, i]``.

IREE 3.13 fuses the slice into the gather, and LLVM refuses the addresses of some of these kernels ("LLVM Translation failed for operation:
builtin.unrealized_conversion_cast"). The elements are read from the whole array instead, as by ``x[i, 0]``.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from plugjax_iree.mlir import (
    Mlir,
    defining_op,
    i64s,
    in_all,
    name_of,
    numbers,
    operands,
    shape_of,
    written_type,
)
from plugjax_iree.mlir.generics import Writer
from plugjax_iree.mlir.kernels import LOADED, kernels

_EXTRACT = b"tensor.extract"
_SHAPE = re.compile(r"tensor<((?:\d+x)+)[^\d?]")
# A number that is an operand.
_COMPUTED = -(2**63)


class _Slice(NamedTuple):
    """A slice of an array of shape ``whole``."""

    whole: list[int]
    offsets: list[int]
    sizes: list[int]
    strides: list[int]

    def is_dense(self) -> bool:
        """Whether its elements lie side by side."""
        first = next((i for i, size in enumerate(self.sizes) if size > 1), len(self.sizes))
        inner = slice(first + 1, None)
        return set(self.strides[first:]) <= {1} and self.sizes[inner] == self.whole[inner]


def apply(mlir: Mlir, module: int) -> int:
    """Let gathers read whole arrays; returns the number of gathers."""
    found = [
        (gather, load, part)
        for gather, load in _gathers(mlir, module)
        if (part := _part(mlir, load)) is not None and not part.is_dense()
    ]
    for gather, load, part in found:
        _read_whole(mlir, gather, load, part)
    return len(found)


def _gathers(mlir: Mlir, module: int) -> Iterator[tuple[int, int]]:
    """What reads elements of arrays by their places in kernels, and what loads the arrays."""
    for kernel in kernels(mlir, module):
        for operation in in_all(mlir, kernel):
            if name_of(mlir, operation) == _EXTRACT:
                load = defining_op(mlir, mlir.operand(operation, 0))
                if load is not None and name_of(mlir, load) == LOADED:
                    yield operation, load


def _part(mlir: Mlir, load: int) -> _Slice | None:
    """What a kernel loads; ``None`` if its shape is only known when it runs."""
    found = _SHAPE.search(written_type(mlir, mlir.type_of(mlir.operand(load, 0))))
    if found is None:
        return None
    names = (b"static_offsets", b"static_sizes", b"static_strides")
    offsets, sizes, strides = (numbers(mlir, load, name) for name in names)
    whole = [int(size) for size in found[1].split("x")[:-1]]
    return None if _COMPUTED in (*sizes, *strides) else _Slice(whole, offsets, sizes, strides)


def _read_whole(mlir: Mlir, gather: int, load: int, part: _Slice) -> None:
    array, *starts = operands(mlir, load)
    slice_, *places = operands(mlir, gather)
    element = mlir.element_type(mlir.type_of(slice_))
    writer = Writer(mlir, load)
    attributes = {
        b"operandSegmentSizes": "array<i32: 1, 0, 0, 0, 0>",
        b"static_offsets": i64s([0] * len(part.whole)),
        b"static_sizes": i64s(part.whole),
        b"static_strides": i64s([1] * len(part.whole)),
    }
    kind = writer.array(part.whole, element)
    loaded = writer.put(writer.operation(LOADED, [kind], [array], attributes))

    writer = Writer(mlir, gather)
    index = writer.type("index")

    def combined(name: bytes, value: int, number: int) -> int:
        return writer.put(writer.operation(name, [index], [value, number], {}))

    # The slice does not have some of the axes of one element.
    left = list(shape_of(mlir, slice_))
    into = []
    for offset, size, stride in zip(part.offsets, part.sizes, part.strides, strict=True):
        start = starts.pop(0) if offset == _COMPUTED else writer.number(str(offset), index)
        if not left or left[0] != size:
            into.append(start)
            continue
        left.pop(0)
        place = places.pop(0)
        if stride != 1:
            place = combined(b"arith.muli", place, writer.number(str(stride), index))
        into.append(combined(b"arith.addi", place, start) if offset else place)
    read = writer.operation(_EXTRACT, [element], [loaded, *into], {})
    mlir.replace(mlir.result(gather, 0), writer.put(read))
    mlir.destroy(gather)
