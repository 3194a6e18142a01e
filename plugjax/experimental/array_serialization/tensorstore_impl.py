"""Specs of tensorstore: where arrays of a checkpoint are, and how they are cut. The package tensorstore itself is imported late."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import math
import os
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from types import ModuleType
from typing import Any

import numpy as np

from plugjax.extend.core import Array
from plugjax.extend.meshes import block_shape

logger = logging.getLogger(__name__)

# Chunks are at most about this large.
_CHUNK_BYTES = 2 * 1024**3
PROCESS_FOLDER = "process_{}"


def is_installed() -> bool:
    """Whether the package tensorstore can be imported."""
    return importlib.util.find_spec("tensorstore") is not None


def library() -> ModuleType:
    """The package tensorstore.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return importlib.import_module("tensorstore")
    except ImportError as error:
        raise ImportError(
            "this checkpoint was written by tensorstore, which is not installed. pip install tensorstore"
        ) from error


def is_tensorstore_spec_leaf(leaf: Any) -> bool:
    """Whether a value is a spec of tensorstore, or none.

    Example:
        >>> from plugjax.experimental.array_serialization.tensorstore_impl import is_tensorstore_spec_leaf
        >>> is_tensorstore_spec_leaf({"driver": "zarr3"}), is_tensorstore_spec_leaf({"a": 1})
        (True, False)
    """
    return leaf is None or (isinstance(leaf, dict) and ("driver" in leaf or "kvstore" in leaf))


def merge_nested_ts_specs(dict1: Mapping[str, Any], dict2: Mapping[str, Any] | None) -> Any:
    """Two specs as one: the entries of the second one count, also within ``kvstore``.

    Example:
        >>> from plugjax.experimental.array_serialization.tensorstore_impl import merge_nested_ts_specs
        >>> merge_nested_ts_specs({"kvstore": {"driver": "file"}}, {"kvstore": {"path": "/a"}})
        {'kvstore': {'driver': 'file', 'path': '/a'}}
    """
    if dict2 is None:
        return dict1
    inner = {**dict1.get("kvstore", {}), **dict2.get("kvstore", {})}
    return {**dict1, **dict2, "kvstore": inner}


def _local_shape(arr: Any) -> tuple[int, ...]:
    return block_shape(arr.sharding, arr.shape) if isinstance(arr, Array) else tuple(arr.shape)


def chunk_shape(shape: Sequence[int], itemsize: int) -> list[int]:
    """A shape that divides ``shape`` and is not much larger than a chunk may be."""
    found = [max(n, 1) for n in shape]
    while math.prod(found) * itemsize > 1.1 * _CHUNK_BYTES:
        axis = max(range(len(found)), key=found.__getitem__)
        n = found[axis]
        divisor = next((d for d in range(2, math.isqrt(n) + 1) if n % d == 0), n)
        if n == 1:
            break
        found[axis] = n // divisor
    return found


def metadata(arr: Any, driver: str) -> dict[str, Any]:
    """Shape, dtype and chunks of an array in the words of a driver.

    Raises:
        ValueError: an unknown driver.
    """
    local, shape = _local_shape(arr), [int(n) for n in arr.shape]
    if driver == "zarr3":
        chunks = chunk_shape(local, np.dtype(arr.dtype).itemsize)
        return {
            "codecs": [],
            "shape": shape,
            "data_type": np.dtype(arr.dtype).name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        }
    if driver == "zarr":
        return {
            "compressor": {"id": "zstd"},
            "shape": shape,
            "chunks": [max(1, int(n)) for n in local],
        }
    raise ValueError(f"Unsupported driver: {driver}. Choose 'zarr3' or 'zarr'.")


def _remote(path: str) -> dict[str, Any] | None:
    found = re.fullmatch(r"(gs|s3)://([^/]*)/(.*)", path, re.DOTALL)
    if found is None:
        if path.startswith(("gs://", "s3://")):
            raise ValueError(
                f"The ckpt_path should contain the bucket name and the file path inside the bucket. Got: {path}"
            )
        return None
    return {"driver": {"gs": "gcs", "s3": "s3"}[found[1]], "bucket": found[2], "path": found[3]}


def get_tensorstore_spec(
    ckpt_path: str | PathLike[str],
    ocdbt: bool = True,
    process_idx: int | None = None,
    arr: Any = None,
    driver: str = "zarr3",
) -> dict[str, Any]:
    """The spec of an array at a path.

    Args:
        ckpt_path: the path; with ``ocdbt`` its last part is a key in the database in the folder.
        ocdbt: whether arrays lie in a database of tensorstore rather than in a folder each.
        process_idx: the process that writes, if each has a folder of its own.
        arr: the array, for metadata.
        driver: ``"zarr3"`` or ``"zarr"``.

    Raises:
        ValueError: with ``ocdbt``, a path that is not absolute.

    Example:
        >>> from plugjax.experimental.array_serialization.tensorstore_impl import get_tensorstore_spec
        >>> get_tensorstore_spec("/tmp/a/0")["kvstore"]
        {'driver': 'ocdbt', 'base': {'driver': 'file', 'path': '/tmp/a'}, 'path': '0'}
    """
    path = re.sub(r"^(gs|s3):/", r"\1://", os.path.normpath(str(ckpt_path)))
    if process_idx is not None:
        parent, name = os.path.split(path)
        path = os.path.join(parent, PROCESS_FOLDER.format(process_idx), name)
    key = None
    if ocdbt:
        path, key = os.path.split(path)
    base = _remote(path)
    if base is None:
        if ocdbt and not os.path.isabs(path):
            raise ValueError(f"Checkpoint path should be absolute. Got {path}")
        base = {"driver": "file", "path": path}
    kvstore = {"driver": "ocdbt", "base": base, "path": key} if ocdbt else base
    spec: dict[str, Any] = {"driver": driver, "kvstore": kvstore}
    if arr is not None:
        spec["metadata"] = metadata(arr, driver)
    return spec


def verify_tensorstore_spec(
    spec: Mapping[str, Any],
    arr: Any,
    path: str | PathLike[str],
    ocdbt: bool,
    check_metadata: bool = True,
) -> None:
    """Check that a spec is for an array at a path.

    Raises:
        ValueError: it is for another driver, dtype, shape or path, or its chunks do not divide the blocks of the array.

    Example:
        >>> import numpy as np
        >>> from plugjax.experimental.array_serialization import tensorstore_impl as ts
        >>> array = np.ones(2)
        >>> spec = ts.get_tensorstore_spec("/tmp/a/0", arr=array)
        >>> ts.verify_tensorstore_spec(spec, array, "/tmp/b", ocdbt=True)
        Traceback (most recent call last):
        ValueError: Provided path='/tmp/b' does not match the spec path: {'driver': 'ocdbt', 'base': {'driver': 'file', 'path': '/tmp/a'}, 'path': '0'}
    """
    kvstore = spec.get("kvstore", {})
    if ocdbt and kvstore.get("driver", "") != "ocdbt":
        raise ValueError(f"Expected ocdbt driver, got {spec=}")
    if check_metadata:
        if arr is None:
            raise ValueError("Array is required for metadata verification.")
        _verify_metadata(spec, arr)
    found = kvstore["base"]["path"] if ocdbt else kvstore["path"]
    if str(found) != str(path):
        raise ValueError(f"Provided {path=} does not match the spec path: {kvstore}")


def _verify_metadata(spec: Mapping[str, Any], arr: Any) -> None:
    said = spec["metadata"]
    zarr3 = spec.get("driver", "") == "zarr3"
    if zarr3 and said["data_type"] != np.dtype(arr.dtype).name:
        raise ValueError(f"Provided dtype ({said['data_type']}) doesn't match ({arr.dtype})")
    if "shape" in said and tuple(said["shape"]) != tuple(arr.shape):
        raise ValueError(f"Provided shape ({said['shape']}) doesn't match ({arr.shape})")
    if zarr3:
        chunks, local = said["chunk_grid"]["configuration"]["chunk_shape"], _local_shape(arr)
        if any(n % chunk for n, chunk in zip(local, chunks, strict=True)):
            raise ValueError(
                f"Provided chunk shape {chunks} does not divide the local shape of the array {local}"
            )


def estimate_read_memory_footprint(t: Any, domain: Any = None) -> int:
    """Bytes that reading a part of an array takes, whose chunks are read whole.

    Args:
        t: an array of tensorstore.
        domain: the part; all, if left out.

    Example:
        >>> from types import SimpleNamespace as Record
        >>> from plugjax.experimental.array_serialization.tensorstore_impl import estimate_read_memory_footprint
        >>> class Template(Record):
        ...     def __getitem__(self, axis):
        ...         return Record(finite=True)
        >>> layout = Record(read_chunk_template=Template(origin=(0,), shape=(4,)))
        >>> array = Record(rank=1, dtype=Record(numpy_dtype=Record(itemsize=2)), chunk_layout=layout)
        >>> estimate_read_memory_footprint(array, Record(origin=(3,), shape=(2,), size=2))
        16
    """
    domain = t.domain if domain is None else domain
    size: int = t.dtype.numpy_dtype.itemsize
    chunks = t.chunk_layout.read_chunk_template
    if not all(chunks[axis].finite for axis in range(t.rank)):
        return int(domain.size) * size
    for axis in range(t.rank):
        start = domain.origin[axis] - chunks.origin[axis]
        first = start // chunks.shape[axis]
        last = -(-(start + domain.shape[axis]) // chunks.shape[axis])
        size *= (last - first) * chunks.shape[axis]
    return size


__all__ = [
    "estimate_read_memory_footprint",
    "get_tensorstore_spec",
    "is_tensorstore_spec_leaf",
    "logger",
    "merge_nested_ts_specs",
    "verify_tensorstore_spec",
]
