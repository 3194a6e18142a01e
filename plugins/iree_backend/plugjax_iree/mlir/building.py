"""Writing operations with regions."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from plugjax_iree.mlir.interface import Mlir, Pointer, text_of
from plugjax_iree.mlir.reading import written_type
from plugjax_iree.mlir.rewriting import create


class Builder:
    """Writes operations into blocks that are in no program yet.

    Args:
        mlir: the interface.
        place: the operation that is replaced; what is written gets its location.

    Attributes:
        into: the block that `append`, `clone` and `constant` write into.
    """

    def __init__(self, mlir: Mlir, place: int) -> None:
        self._mlir, self._place = mlir, place
        self._context, self._location = mlir.context(place), mlir.location(place)
        self.into = 0

    def block(self, types: Sequence[int]) -> int:
        """A block with arguments of some types."""
        count = len(types)
        places = (Pointer * count)(*[self._location] * count)
        return self._mlir.new_block(count, (Pointer * count)(*types), places)

    def arguments(self, block: int, count: int) -> list[int]:
        """The arguments of a block."""
        return [self._mlir.argument(block, i) for i in range(count)]

    def operation(
        self,
        name: bytes,
        types: Sequence[int],
        values: Sequence[int],
        attributes: Mapping[bytes, str],
        regions: Sequence[int] = (),
    ) -> int:
        """An operation with a region of one block for each of some blocks; attributes as MLIR writes them."""
        named = []
        for key, text in attributes.items():
            attribute = self._mlir.parse_attribute(self._context, text_of(text.encode()))
            assert attribute is not None, text
            named.append((self._mlir.identifier(self._context, text_of(key)), attribute))
        return create(self._mlir, name, self._location, types, values, named, regions)

    def type(self, written: str) -> int:
        """A type, as MLIR writes it."""
        kind = self._mlir.parse_type(self._context, text_of(written.encode()))
        assert kind is not None, written
        return kind

    def before(
        self,
        name: bytes,
        types: Sequence[int],
        values: Sequence[int],
        attributes: Mapping[bytes, str] = MappingProxyType({}),
    ) -> int:
        """The result of an operation that is written before the one that is replaced."""
        made = self.operation(name, types, values, attributes)
        self._mlir.insert_before(self._mlir.block_of(self._place), self._place, made)
        return self._mlir.result(made, 0)

    def append(
        self,
        name: bytes,
        types: Sequence[int],
        values: Sequence[int],
        regions: Sequence[int] = (),
        attributes: Mapping[bytes, str] = MappingProxyType({}),
    ) -> list[int]:
        """The results of an operation at the end of the block."""
        made = self.operation(name, types, values, attributes, regions)
        self._mlir.append(self.into, made)
        return [self._mlir.result(made, i) for i in range(len(types))]

    def clone(self, operation: int, values: Sequence[int]) -> list[int]:
        """The results of an operation like another one, of other operands."""
        made = self._mlir.clone(operation)
        for i, value in enumerate(values):
            self._mlir.set_operand(made, i, value)
        self._mlir.append(self.into, made)
        return [self._mlir.result(made, i) for i in range(self._mlir.result_count(made))]

    def constant(self, value: str, kind: int) -> int:
        """A number, as MLIR writes it without its type."""
        written = written_type(self._mlir, kind)
        text = value if written == "i1" else f"{value} : {written}"
        made = self.operation(b"arith.constant", [kind], [], {b"value": text})
        self._mlir.append(self.into, made)
        return self._mlir.result(made, 0)
