"""FlatBuffers: tables of a schema to bytes and back.

The reader checks every offset and length against the buffer before it uses them, and reads no more tables than the buffer
has room for. So malformed bytes are a ``ValueError``, never a read elsewhere or a loop.

Reference:
    FlatBuffers, "Internals": a table starts with the signed distance to its vtable, which holds the offset of each field.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from plugjax.export.schema import TABLES, Field

_NUMBERS = {"i8": "<i1", "u8": "<u1", "bool": "<u1", "i16": "<i2", "u16": "<u2", "u32": "<u4"}
_SIZES = {name: np.dtype(code).itemsize for name, code in _NUMBERS.items()}
_CODES = {"i8": "<b", "u8": "<B", "bool": "<B", "i16": "<h", "u16": "<H", "u32": "<I"}
_SLOTS = {
    "i8": "PrependInt8Slot", "u8": "PrependUint8Slot", "bool": "PrependBoolSlot", "i16": "PrependInt16Slot",
    "u16": "PrependUint16Slot", "u32": "PrependUint32Slot",
}  # fmt: skip

# Trees and chains of derivatives are nested; Python's own stack is the limit.
_DEEPEST = 400


def _library() -> ModuleType:
    try:
        return importlib.import_module("flatbuffers")
    except ImportError as error:
        raise ImportError(
            "export: writing an artifact needs the package flatbuffers. pip install flatbuffers"
        ) from error


def write(table: str, values: Mapping[str, Any]) -> bytearray:
    """The bytes of a table.

    Args:
        table: its name in the schema.
        values: fields by name; ``None`` or an absent name for the default.

    Raises:
        ImportError: the package ``flatbuffers`` is not installed.
    """
    builder: Any = _library().Builder(4096)
    builder.Finish(_write_table(builder, table, values))
    return bytearray(builder.Output())


def _write_table(builder: Any, table: str, values: Mapping[str, Any]) -> int:
    fields = TABLES[table]
    unknown = values.keys() - {field.name for field in fields}
    if unknown:
        raise KeyError(f"table {table} has no field {sorted(unknown)}")
    # What a table refers to is written before it.
    references: dict[str, int] = {}
    for field in fields:
        value = values.get(field.name)
        if value is not None and (field.repeated or field.kind not in _CODES):
            references[field.name] = _write_reference(builder, field, value)
    builder.StartObject(len(fields))
    for slot, field in enumerate(fields):
        value = values.get(field.name)
        if value is None:
            continue
        if field.name in references:
            builder.PrependUOffsetTRelativeSlot(slot, references[field.name], 0)
        else:
            getattr(builder, _SLOTS[field.kind])(slot, value, 0)
    offset: int = builder.EndObject()
    return offset


def _write_reference(builder: Any, field: Field, value: Any) -> int:
    offset: int
    if not field.repeated:
        if field.kind == "string":
            offset = builder.CreateString(value)
            return offset
        return _write_table(builder, field.kind, value)
    if field.kind == "u8":
        offset = builder.CreateByteVector(bytes(value))
    elif field.kind in _NUMBERS:
        offset = builder.CreateNumpyVector(np.asarray(value, _NUMBERS[field.kind]))
    else:
        single = Field(field.name, field.kind)
        items = [_write_reference(builder, single, item) for item in value]
        builder.StartVector(4, len(items), 4)
        for item in reversed(items):
            builder.PrependUOffsetTRelative(item)
        offset = builder.EndVector()
    return offset


def read(table: str, data: bytes) -> dict[str, Any]:
    """The fields of the table at the root of a buffer, all of them: defaults stand for those that are absent.

    Args:
        table: its name in the schema.
        data: the bytes.

    Raises:
        ValueError: the bytes are not such a table.
    """
    reader = _Reader(data)
    return reader.table(table, reader.reference(0, table), table, 0)


class _Reader:
    """Reads with every access checked."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        # Every table takes at least this many bytes, unless references share it, which no writer does.
        self.tables_left = len(data) // 4

    def fail(self, what: str) -> ValueError:
        return ValueError(
            f"export.deserialize: the bytes are no serialised function, or are damaged: {what}"
        )

    def number(self, code: str, position: int, what: str) -> int:
        size = struct.calcsize(code)
        if position < 0 or position + size > len(self.data):
            raise self.fail(f"{what} lies at byte {position} of {len(self.data)}.")
        found: int = struct.unpack_from(code, self.data, position)[0]
        return found

    def reference(self, position: int, what: str) -> int:
        distance = self.number("<I", position, what)
        if distance == 0:
            raise self.fail(f"{what} refers to itself.")
        return position + distance

    def table(self, name: str, position: int, path: str, depth: int) -> dict[str, Any]:
        self.tables_left -= 1
        if self.tables_left < 0:
            raise self.fail("it holds more tables than it has room for.")
        if depth > _DEEPEST:
            raise self.fail(f"{path} is nested more than {_DEEPEST} levels deep.")
        vtable = position - self.number("<i", position, path)
        size = self.number("<H", vtable, f"the vtable of {path}")
        if size < 4 or size % 2 or vtable + size > len(self.data):
            raise self.fail(f"the vtable of {path} has {size} bytes.")
        values: dict[str, Any] = {}
        for slot, field in enumerate(TABLES[name]):
            entry = 4 + 2 * slot
            offset = (
                self.number("<H", vtable + entry, f"{path}.{field.name}") if entry < size else 0
            )
            where = f"{path}.{field.name}"
            values[field.name] = (
                self.field(field, position + offset, where, depth) if offset else _default(field)
            )
        return values

    def field(self, field: Field, position: int, path: str, depth: int) -> Any:
        if not field.repeated and field.kind in _CODES:
            number = self.number(_CODES[field.kind], position, path)
            return bool(number) if field.kind == "bool" else number
        target = self.reference(position, path)
        if not field.repeated:
            return self.referred(field.kind, target, path, depth)
        count = self.number("<I", target, path)
        start, size = target + 4, _SIZES.get(field.kind, 4)
        if start + count * size > len(self.data):
            raise self.fail(f"{path} has {count} items, which are more than the bytes hold.")
        if field.kind == "u8":
            return bytes(self.data[start : start + count])
        if field.kind in _NUMBERS:
            return np.frombuffer(self.data, _NUMBERS[field.kind], count, start).tolist()
        found = []
        for i in range(count):
            item = f"{path}[{i}]"
            found.append(
                self.referred(field.kind, self.reference(start + 4 * i, item), item, depth)
            )
        return found

    def referred(self, kind: str, target: int, path: str, depth: int) -> Any:
        if kind != "string":
            return self.table(kind, target, path, depth + 1)
        length = self.number("<I", target, path)
        if target + 4 + length > len(self.data):
            raise self.fail(f"{path} has {length} characters, which are more than the bytes hold.")
        try:
            return bytes(self.data[target + 4 : target + 4 + length]).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(f"{path} is not text.") from error


def _default(field: Field) -> Any:
    if field.repeated:
        empty: Sequence[Any] = b"" if field.kind == "u8" else []
        return empty
    if field.kind == "bool":
        return False
    return 0 if field.kind in _CODES else None
