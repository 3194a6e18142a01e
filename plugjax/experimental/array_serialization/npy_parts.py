"""Arrays as ``.npy`` files, one for each block that a device holds.

NumPy's format has no small floats: they are stored as unsigned integers of their size, and keys as their words.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plugjax import random
from plugjax.environment import process_index
from plugjax.experimental.array_serialization.manifest import Leaf, Part
from plugjax.extend import dtypes
from plugjax.extend.core import Array, ShapedArray, physical_aval

HostArray = np.ndarray[Any, Any]


def stored_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of an array's values as they are kept on the host: that of its words for keys."""
    return np.dtype(physical_aval(ShapedArray((), dtype)).dtype)


def file_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the files of values of a dtype."""
    return dtype if dtype.kind in "biufc" else np.dtype(f"u{dtype.itemsize}")


def own_blocks(array: Any) -> list[tuple[tuple[int, ...], HostArray]]:
    """The blocks of an array that this process writes, by the index of their first element.

    Of several devices with the same block the first one counts.
    """
    if not isinstance(array, Array):
        return [((0,) * array.ndim, array)] if process_index() == 0 else []
    found = []
    for shard in array.addressable_shards:
        if shard.replica_id == 0:
            data = shard.data
            if dtypes.is_extended(data.dtype):
                data = random.key_data(data)
            start = tuple(s.start or 0 for s in shard.index)
            found.append((start + (0,) * (data.ndim - len(start)), np.asarray(data)))
    return found


def write(folder: Path, number: int, array: Any) -> list[Part]:
    """Write the blocks that this process has of leaf ``number`` of a checkpoint."""
    parts = []
    place = folder / "arrays" / str(number)
    place.mkdir(parents=True, exist_ok=True)
    for start, value in own_blocks(array):
        raw = np.ascontiguousarray(value).reshape(value.shape).view(file_dtype(value.dtype))
        name = "_".join(map(str, start)) or "0"
        with (place / f"{name}.npy").open("wb") as file:
            np.lib.format.write_array(file, raw, allow_pickle=False)
        parts.append(Part(f"arrays/{number}/{name}.npy", start, raw.shape, _checksum(raw)))
    return parts


def _checksum(raw: HostArray) -> int:
    flat: Any = np.ascontiguousarray(raw).reshape(-1).view(np.uint8)
    return zlib.crc32(flat)


def _open(folder: Path, leaf: Leaf, part: Part) -> HostArray:
    """The values of a part, as the file holds them, in memory that is the file's.

    Raises:
        ValueError: the file is missing, or is not what the manifest says.
    """
    path = folder / part.file
    wanted = file_dtype(stored_dtype(leaf.dtype))
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = read(file)
            offset = file.tell()
    except (OSError, ValueError) as error:
        raise _damaged(path, leaf, f"{type(error).__name__}: {error}") from None
    if (shape, dtype, fortran) != (part.shape, wanted, False):
        raise _damaged(path, leaf, f"it holds {dtype}{list(shape)}, not {wanted}{list(part.shape)}")
    size = int(np.prod(shape, dtype=np.int64)) * wanted.itemsize
    if path.stat().st_size != offset + size:
        raise _damaged(path, leaf, f"it has {path.stat().st_size} bytes, not {offset + size}")
    if not size:
        return np.empty(shape, wanted)
    return np.memmap(path, wanted, "r", offset, shape)


def _damaged(path: Path, leaf: Leaf, words: str) -> ValueError:
    return ValueError(
        f"load: leaf {leaf.path} cannot be read: the file {path} is damaged: {words}."
    )


def check(folder: Path, leaf: Leaf, blocks: Sequence[tuple[slice, ...]]) -> None:
    """Compare the files that hold given blocks with the manifest.

    Raises:
        ValueError: a file is missing or damaged.
    """
    for part in leaf.parts:
        if any(_overlap(part, block, leaf.stored) is not None for block in blocks):
            found = _open(folder, leaf, part)
            if _checksum(found) != part.crc32:
                raise _damaged(folder / part.file, leaf, "its checksum differs")


def reader(folder: Path, leaf: Leaf) -> Callable[[tuple[slice, ...]], HostArray]:
    """A function from an index to the block there, in new memory."""
    dtype = stored_dtype(leaf.dtype)

    def read(index: tuple[slice, ...]) -> HostArray:
        whole = (*index, *(slice(None),) * (len(leaf.stored) - len(index)))
        ranges = [s.indices(n) for s, n in zip(whole, leaf.stored, strict=True)]
        block = np.empty([stop - start for start, stop, _ in ranges], file_dtype(dtype))
        for part in leaf.parts:
            common = _overlap(part, index, leaf.stored)
            if common is not None:
                there = tuple(
                    slice(a - start, b - start)
                    for (a, b), start in zip(common, part.start, strict=True)
                )
                here = tuple(
                    slice(a - start, b - start)
                    for (a, b), (start, _, _) in zip(common, ranges, strict=True)
                )
                block[here] = _open(folder, leaf, part)[there]
        return block.view(dtype)

    return read


def _overlap(
    part: Part, index: tuple[slice, ...], shape: Sequence[int]
) -> list[tuple[int, int]] | None:
    """What a part and a block have in common, as bounds along each axis."""
    found = []
    for axis, n in enumerate(shape):
        start, stop, _ = (index[axis] if axis < len(index) else slice(None)).indices(n)
        low = max(start, part.start[axis])
        high = min(stop, part.start[axis] + part.shape[axis])
        if low >= high and not (start == stop == low):
            return None
        found.append((low, max(low, high)))
    return found
