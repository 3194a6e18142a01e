"""What the memory of devices holds, as a profile that ``pprof`` opens.

Reference:
    ``profile.proto`` of github.com/google/pprof; the numbers below are those of its fields.
"""

from __future__ import annotations

import gzip
import os
from collections import Counter
from pathlib import Path

from plugjax.core.registry import active
from plugjax.execution.fetching import live_arrays


def device_memory_profile(backend: str | None = None) -> bytes:
    """A profile of the memory of arrays in pprof's compressed form: their number and bytes, by device and by shape.

    Args:
        backend: devices of this backend; all that are loaded or installed by default.

    Differs from JAX:
        A sample has the arrays of one aval instead of those that one line of the program made.

    Example:
        >>> import gzip, plugjax, plugjax.numpy as jnp
        >>> x = jnp.ones((3, 5))
        >>> b"float32[3,5]" in gzip.decompress(plugjax.profiler.device_memory_profile())
        True
    """
    names = [backend] if backend is not None else list(active().backends())
    found = {id(x): x for name in names for x in live_arrays(name)}.values()
    held = Counter((str(x.device), x.aval.str_short(), x.on_device_size_in_bytes()) for x in found)
    table = [
        "", "allocations", "count", "space", "bytes", "kind", "buffer", "device", "array",
    ]  # fmt: skip
    places: dict[str, int] = {text: i for i, text in enumerate(table)}

    def at(text: str) -> int:
        if text not in places:
            places[text] = len(table)
            table.append(text)
        return places[text]

    parts = [_message(1, _number(1, at(a)) + _number(2, at(b))) for a, b in (("allocations", "count"), ("space", "bytes"))]  # fmt: skip
    frames = b""
    for i, ((device, aval, size), count) in enumerate(held.items(), 1):
        labels = ((at("kind"), at("buffer")), (at("device"), at(device)), (at("array"), at(aval)))
        values = _message(2, _varint(count) + _varint(count * size))
        parts.append(_message(2, _message(1, _varint(i)) + values + b"".join(_message(3, _number(1, k) + _number(2, v)) for k, v in labels)))  # fmt: skip
        frames += _message(4, _number(1, i) + _message(4, _number(1, i)))
        frames += _message(5, _number(1, i) + _number(2, at(aval)))
    texts = b"".join(_message(6, text.encode()) for text in table)
    return gzip.compress(b"".join(parts) + frames + texts)


def save_device_memory_profile(
    filename: os.PathLike[str] | str, backend: str | None = None
) -> None:
    r"""Write :func:`device_memory_profile` to a file.

    Example:
        >>> import pathlib, tempfile, plugjax
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "memory.prof"
        ...     plugjax.profiler.save_device_memory_profile(file)
        ...     file.read_bytes()[:2]
        b'\x1f\x8b'
    """
    Path(filename).write_bytes(device_memory_profile(backend))


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content
